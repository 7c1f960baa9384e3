"""The commands, one module each, with `main(options) -> exit status`."""
