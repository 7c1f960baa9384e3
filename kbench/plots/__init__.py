"""Pictures of a run, as bytes of PNG and SVG: the same summaries give the same bytes.

The caller gives each backend's colour. Generations of Keras also differ by line style and backends by marker, so that
nothing is shown by colour alone.
"""

import os

# In the shell of a notebook it names a module of the notebook's own Python, without which matplotlib cannot even be
# imported. Programs that are measured still get it.
_chosen = os.environ.pop("MPLBACKEND", None)
import matplotlib as matplotlib  # noqa: E402

if _chosen is not None:
    os.environ["MPLBACKEND"] = _chosen
