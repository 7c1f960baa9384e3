"""What shows that two backends did the same work: equal weights, a known form, shapes and a numpy reference."""
