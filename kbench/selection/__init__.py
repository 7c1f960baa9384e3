"""What there is to measure, and what of it was named: backends, examples, builds."""
