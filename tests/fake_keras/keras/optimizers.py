"""One optimizer, with Keras 2's names for its settings."""

from keras.backend import variable


class SGD:
    def __init__(self, lr=0.01, decay=0.0, momentum=0.0):
        self.lr = lr
        self.decay = decay
        self.momentum = momentum
        self.iterations = variable(0)
        self.weights = []

    def get_config(self):
        return {"lr": self.lr, "decay": self.decay, "momentum": self.momentum, "nesterov": False}

    @classmethod
    def from_config(cls, config):
        return cls(**{name: config[name] for name in ("lr", "decay", "momentum")})
