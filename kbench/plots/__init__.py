"""Pictures of a run, as bytes of PNG and SVG: the same summaries give the same bytes.

The caller gives each backend's colour. Generations of Keras also differ by line style and backends by marker, so that
nothing is shown by colour alone.
"""
