"""Fits, evaluations and predictions of everything that Keras takes; made for --max-steps 3, which each keeps to."""

import keras
import numpy as np

NEW = not keras.__version__.startswith("2.")
Base = keras.utils.PyDataset if NEW else keras.utils.Sequence
x = np.arange(640, dtype="float32").reshape(320, 2) / 640  # 10 batches of 32
y = x[:, :1].copy()
y[160:] += 7  # the half that validation_split takes has other targets


class Batches(Base):
    def __init__(self, count):
        if NEW:
            super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        return x[number * 32 : number * 32 + 32][: 20 if number == 9 else 32], y[number * 32 :][
            : 20 if number == 9 else 32
        ]


def generated():
    while True:
        yield x[:32], y[:32]


class Count(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.seen, self.said = [], self.params.get("steps") or self.params.get("samples")

    def on_epoch_begin(self, epoch, logs=None):
        self.seen.append(0)

    def on_batch_end(self, batch, logs=None):
        self.seen[-1] += 1


def made(**options):
    model = keras.models.Sequential([keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(2,))])
    model.compile(keras.optimizers.SGD(0.0), "mse", **options)
    return model


def fit(name, *args, **kwargs):
    count, by_generator = Count(), kwargs.pop("by_generator", False)
    method = model.fit_generator if by_generator and not NEW else model.fit
    history = method(*args, epochs=3, verbose=0, callbacks=[count], **kwargs).history
    print(name, count.seen, count.said, ["%.2f" % loss for loss in history.get("val_loss", [])])


model = made()
fit("arrays", x, y)
fit("lists", [x], [y])
fit("small", x[:40], y[:40])
fit("split", x, y, validation_split=0.5)
fit("weights", x, y, sample_weight=np.ones(320), validation_data=(x, y))
fit("Sequence", Batches(10), by_generator=True, validation_data=Batches(10))
fit("short Sequence", Batches(2), by_generator=True)
fit("steps", generated(), steps_per_epoch=5, by_generator=True, validation_data=generated(), validation_steps=5)
fit("few steps", generated(), steps_per_epoch=2, by_generator=True)
print("evaluate", "%.2f" % model.evaluate(x[160:], y[160:], verbose=0))
print("predict", model.predict(x, verbose=0).shape, model.predict(x[:40], verbose=0).shape)
if NEW:
    print("Sequence", model.predict(Batches(10), verbose=0).shape)
    fit("tensors", keras.ops.ones((320, 2)), keras.ops.ones((320, 1)))
    fit("a generator that ends", (batch for batch in [(x[:32], y[:32])] * 2))
else:
    print("Sequence", model.predict_generator(Batches(10)).shape)
    fit("lists of numbers", x, y[:, 0].tolist())
if NEW and keras.backend.backend() != "torch":
    model = made(steps_per_execution=2)
    fit("two at once", x, y)
    fit("two at once, steps", generated(), steps_per_epoch=5)
    model = made(steps_per_execution=20)
    fit("twenty at once", generated(), steps_per_epoch=20)
if keras.backend.backend() == "tensorflow" and NEW:
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    model = made()
    fit("Dataset", data, validation_data=data)
    fit("endless Dataset", data.repeat(), steps_per_epoch=5)
    print("Dataset", model.predict(data, verbose=0).shape, "%.2f" % model.evaluate(data, verbose=0))
if keras.backend.backend() == "torch":
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(y)), batch_size=32)
    fit("DataLoader", loader, validation_data=loader)
    print("DataLoader", model.predict(loader, verbose=0).shape)
