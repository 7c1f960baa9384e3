"""Lists and frees kbench's cache folder."""
