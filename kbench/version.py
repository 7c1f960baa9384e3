"""The version of kbench, for people, files and packages."""

__version__ = "0.1.0"
