"""Published comparisons: run again, and beside a run's own figures."""
