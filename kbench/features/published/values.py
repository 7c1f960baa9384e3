"""The words for what `list` and `compare` show of published comparisons."""

SUITES, PUBLISHED = "suites", "published"
