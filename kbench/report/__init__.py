"""The page that people look at: one HTML file that needs no network, with charts that answer the pointer."""
