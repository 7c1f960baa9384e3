"""What runs before kbench's own environment is there: makes it and hands over. No packages."""
