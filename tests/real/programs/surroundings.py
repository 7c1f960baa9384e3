"""What a program finds around it: arguments, files, neighbours, standard input, its own name; and its exit status."""

import argparse
import os
import pickle
import signal
import sys
import warnings

import numpy as np
from beside import own_layers
from keras.models import Sequential

parser = argparse.ArgumentParser()
parser.add_argument("--status", type=int)
asked = parser.parse_args()
print(__name__, sys.argv, os.path.basename(__file__), os.path.basename(sys.path[0]) == os.path.basename(os.getcwd()))
print(os.path.isfile("ten_lines.py"), sys.modules["__main__"].__dict__ is globals(), __doc__.split()[0])
print([line.strip() for line in sys.stdin], os.environ.get("OF_THE_USER"))
print(
    signal.getsignal(signal.SIGINT) is signal.default_int_handler, [f[0] for f in warnings.filters if f[3] == 0][:1]
)


class Mine:
    pass


print(type(pickle.loads(pickle.dumps(Mine()))) is Mine)
model = Sequential(own_layers.layers())
model.compile("sgd", "mse")
x = np.ones((64, 3), "float32")
print([repr(float(loss)) for loss in own_layers.fitted(model, x, x[:, :1]).history["loss"]])
with open("written.txt", "a") as file:
    file.write("once\n")
print(open("written.txt").read().split())
print("to stderr", file=sys.stderr)
sys.exit(asked.status)
