"""The kinds of findings that only the lines of a program have; `told/finding_sentences.py` makes words of them."""

from __future__ import annotations

from kbench.records.findings import FeatureKind

OTHER_CALL = FeatureKind("call")  # returns something else; aspect: scores, inputs, later calls, or of OF_OUTPUTS
OF_OUTPUTS = frozenset(("numbers", "not numbers", "shape", "shapes", "random"))
TIME_GROWTH = FeatureKind("time growth")  # of each call, or epoch
NO_TRAINING = FeatureKind("no training")  # of a fit: no weight changed
OTHER_METRIC = FeatureKind("metric")  # of a fit, at the same loss; aspect: the metric or extra loss
WARNED = FeatureKind("warned")  # of a program: what not all backends warn of; own: the warnings
NO_CALLS = FeatureKind("no calls")  # of a program that calls none of Keras's methods
NO_SUM = FeatureKind("no sum")  # parts come to more than the whole; aspect: which; own, other: seconds of both
