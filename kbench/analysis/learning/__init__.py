"""Whether rows learn alike."""
