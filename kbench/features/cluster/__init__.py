"""Measures a run's blocks on the machines of a Dask cluster. Only `--on` imports it, and only with Dask installed."""
