"""segmentation_unet in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf


def two(inputs, filters):
    return [("Conv2D", (3, 3, inputs, filters), (filters,)), ("Conv2D", (3, 3, filters, filters), (filters,))]


def up(filters):
    return [("Conv2DTranspose", (2, 2, filters, 2 * filters), (filters,)), *two(2 * filters, filters)]


LAYERS = [*two(1, 16), *two(16, 32), *two(32, 64), *two(64, 128), *up(64), *up(32), *up(16)]
LAYERS.append(("Conv2D", (1, 1, 16, 1), (1,)))
INITIALIZERS = {"Conv2D": ("HeNormal", "Zeros"), -1: ("GlorotUniform", "Zeros")}


def twice_as_large(x, kernel, bias):
    count, rows, columns = tf.shape(x)[0], 2 * x.shape[1], 2 * x.shape[2]
    x = tf.nn.conv2d_transpose(x, kernel, (count, rows, columns, kernel.shape[2]), 2, "VALID")
    return tf.nn.bias_add(x, bias)


class UNet(tf.Module):
    def __init__(self, weights):
        self.params = [tf.Variable(value) for value in weights]

    def __call__(self, x):
        layers = zip(self.params[::2], self.params[1::2])

        def convolve(x):
            kernel, bias = next(layers)
            return tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias)

        def convolve_twice(x):
            return tf.nn.relu(convolve(tf.nn.relu(convolve(x))))

        before = []
        for _ in (16, 32, 64):
            before.append(convolve_twice(x))
            x = tf.nn.max_pool2d(before[-1], 2, 2, "VALID")
        x = convolve_twice(x)
        for kept in reversed(before):
            x = convolve_twice(tf.concat([kept, twice_as_large(x, *next(layers))], axis=3))
        x = convolve(x)
        return tf.reshape(x, (-1, x.shape[1] * x.shape[2], 1))

    @tf.function
    def probabilities(self, x):
        return tf.sigmoid(self(x))


class Adam(tf.Module):
    def __init__(self, params, **settings):
        self.means = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.squares = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.settings = settings
        self.steps = tf.Variable(0.0)

    @tf.function
    def step(self, model, x, y):
        with tf.GradientTape() as tape:
            logits = model(x)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, logits))
        self.steps.assign_add(1.0)
        powers = {f"{name}_power": self.settings[name] ** self.steps for name in ("beta1", "beta2")}
        parts = zip(model.params, self.means, self.squares, tape.gradient(loss, model.params))
        for param, mean, square, gradient in parts:
            moments = {"m": mean.handle, "v": square.handle}
            own = {"var": param.handle, "grad": gradient}
            tf.raw_ops.ResourceApplyAdam(**own, **moments, **powers, **self.settings)
        return loss, tf.reduce_mean(tf.cast(tf.equal(logits > 0.0, y > 0.0), tf.float32))


def build(weights, dropout, seed):
    return UNet(weights)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return Adam(model.params, lr=learning_rate, beta1=beta_1, beta2=beta_2, epsilon=epsilon)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x), tf.constant(y))


def predict(model, x):
    return model.probabilities(tf.constant(x)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]
