"""Makes guest_modules.py known to the tests in the folders below, too."""
