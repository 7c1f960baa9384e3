"""Text that a model writes: each token is the most probable one after those before it, without a cache."""

import time
from typing import Any, Tuple

import numpy as np

from kbench_guest.turns import held_seconds


def write(model: Any, texts: np.ndarray, tokens: int, batch_size: int) -> Tuple[np.ndarray, float]:
    """(the tokens that follow each text, mean seconds until the first of them is known).

    texts: (n, places) token numbers; n fills whole batches. The model gives probabilities for the token after each
    place. It sees as many places as it has; the first ones go as new ones come.
    """
    written, firsts = [], []
    for start in range(0, len(texts), batch_size):
        window, found = np.array(texts[start : start + batch_size]), []
        began, held = time.perf_counter(), held_seconds()
        for number in range(tokens):
            chosen = np.asarray(model.predict_on_batch(window))[:, -1].argmax(axis=-1)
            if number == 0:  # reading it waited for the device
                firsts.append(time.perf_counter() - began - (held_seconds() - held))
            found.append(chosen)
            window = np.concatenate([window[:, 1:], chosen[:, None].astype(window.dtype)], axis=1)
        written.append(np.stack(found, axis=1))
    return np.concatenate(written), sum(firsts) / len(firsts)
