"""Pictures of a run, as bytes of PNG and SVG: the same summaries give the same bytes.

Colours are given by the caller, per backend; generations of Keras differ by line style and rows of one
backend by marker, so that colour is never the only carrier.
"""
