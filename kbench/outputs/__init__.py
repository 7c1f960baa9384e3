"""Everything that is made from a run's raw files: tables, plots and pages."""
