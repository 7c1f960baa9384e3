"""What a guest can run: a module for each kind of program."""
