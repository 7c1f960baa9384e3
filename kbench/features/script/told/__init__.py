"""What is said of the lines of a user's program: their tables, and sentences on them."""
