"""The methods of models that are observed, by their names in both generations of Keras."""

FITS = ("fit", "fit_generator")
EVALUATES = ("evaluate", "evaluate_generator")
PREDICTS = ("predict", "predict_generator")
SCORES = EVALUATES + ("test_on_batch",)
CALL = "__call__"
TRAINS = FITS + ("train_on_batch",)
GIVE_SCORES = SCORES + ("train_on_batch",)
IN_LOOPS = ("train_on_batch", "test_on_batch", "predict_on_batch", "call", "loop")  # as lines are named
RUNS = SCORES + PREDICTS + ("predict_on_batch",)
