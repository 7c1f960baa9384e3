"""`pack`, `unpack` and `export`: a run as one file, and its data in the formats of other programs."""
