"""Creates kbench's own environment and hands over to it. Needs no packages."""
