"""Summaries as people and programs read them: `text` and `markdown` tables, `page`, and `csv`."""
