"""The methods of models that are observed, by their names in both generations of Keras."""

FITS = ("fit", "fit_generator")
EVALUATES = ("evaluate", "evaluate_generator")
PREDICTS = ("predict", "predict_generator")
SCORES = EVALUATES + ("test_on_batch",)
CALL = "__call__"
TRAINS = FITS + ("train_on_batch",)
RUNS = SCORES + PREDICTS + ("predict_on_batch",)
