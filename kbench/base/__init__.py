"""What everything stands on: errors, paths, files, the locale. It knows nothing of Keras or of runs."""
