"""`compare`: runs side by side, or backends of one run."""
