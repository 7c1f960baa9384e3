"""From events to figures: steady times, intervals, ratios, learning curves, fingerprints."""
