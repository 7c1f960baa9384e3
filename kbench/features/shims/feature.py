"""Serves names of the other generation of Keras to a program, so that it runs on both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kbench import hooks
from kbench.additions import FurtherOptions, ProgramPart

# What an error says if a shim would help.
SERVED = (
    r"\b(lr|decay|nb_epoch|np_utils|(fit|evaluate|predict)_generator|CuDNN(LSTM|GRU)|learning_rate|jit_compile"
    r"|steps_per_execution|set_random_seed|ImageDataGenerator|predict_(classes|proba)|reset_states|mse"
    r"|keras\.(ops|engine|layers\.\w+|utils\.\w+_utils|preprocessing\.\w+))\b|'ops'"
    r"|\b((val_)?acc|batch_input_shape)\b|'(period|weights)'|module '(keras\.(backend|optimizers)|numpy)' has no"
    r"|'Input'"
)
_OPTION = {
    "--shims": {
        "action": "store_true",
        "help": "also accept names of the other Keras generation, such as lr, fit_generator, np_utils, learning_rate",
    }
}


@hooks.fills
def further_options() -> Mapping[str, FurtherOptions]:
    """`--shims`, of all commands that take a program."""
    option = FurtherOptions("a program of your own", tuple(_OPTION), _OPTION, kept=True, of_programs=True)
    return dict.fromkeys(("script", "parity"), option)


@hooks.fills
def program_part(asked: Mapping[str, Any]) -> ProgramPart:
    """What goes into the program's process."""
    return ProgramPart("shims", "kbench_shims.shims", bool(asked.get("shims")), SERVED, "--shims may serve it")
