"""The command line: options, and the way to a command."""
