"""One optimizer, with Keras 2's names for its settings."""


class SGD:
    def __init__(self, lr=0.01, decay=0.0, momentum=0.0):
        self.lr = lr
