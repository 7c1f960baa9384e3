"""Q-learning on five states: up to three predictions and a fit of one row in each step (tensorflow#35124, #48844)."""

import argparse

import numpy as np
from keras.layers import Dense
from keras.models import Sequential

parser = argparse.ArgumentParser()
parser.add_argument("--on-batch", action="store_true", help="predict_on_batch and train_on_batch instead")
asked = parser.parse_args()

STATES, STEPS, DISCOUNT = 5, 60, 0.95
random = np.random.RandomState(0)
model = Sequential([Dense(10, activation="sigmoid", input_shape=(STATES,)), Dense(2)])
model.compile(loss="mse", optimizer="adam", metrics=["mae"])


def predict(state):
    row = np.eye(STATES, dtype="float32")[state : state + 1]
    if asked.on_batch:
        return np.array(model.predict_on_batch(row))[0]
    return model.predict(row, verbose=0)[0]


def learn(state, values):
    row, target = np.eye(STATES, dtype="float32")[state : state + 1], values[None]
    if asked.on_batch:
        model.train_on_batch(row, target)
    else:
        model.fit(row, target, epochs=1, verbose=0)


state = 0
for _ in range(STEPS):
    action = random.randint(2) if random.rand() < 0.5 else int(np.argmax(predict(state)))
    reached = 0 if action else min(state + 1, STATES - 1)
    reward = 2 if action else 10 * (state == STATES - 1)
    target = reward + DISCOUNT * np.max(predict(reached))
    values = predict(state)
    values[action] = target
    learn(state, values)
    state = reached
