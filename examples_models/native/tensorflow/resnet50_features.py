"""resnet50_features in TensorFlow 2 without Keras: a function of variables, as a tf.function."""

import tensorflow as tf

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # filters, blocks, stride of the first
INITIALIZERS = {"Conv2D": ("HeNormal", "Zeros")}


def convolution(size, inputs, filters):
    return "Conv2D", (size, size, inputs, filters), (filters,)


def normalisation(filters):
    return ("BatchNormalization",) + 4 * ((filters,),)


def layers():
    """As Keras has them: the convolution of a shortcut beside the last one of its block."""
    found, inputs = [convolution(7, 3, 64), normalisation(64)], 64
    for filters, count, _ in STAGES:
        for number in range(count):
            found += [convolution(1, inputs, filters), normalisation(filters)]
            found += [convolution(3, filters, filters), normalisation(filters)]
            found += [convolution(1, filters, 4 * filters)]
            found += [] if number else [convolution(1, inputs, 4 * filters)]
            found += [normalisation(4 * filters)] * (1 if number else 2)
            inputs = 4 * filters
    return found


LAYERS = layers()


class ResNet50(tf.Module):
    def __init__(self, weights):
        self.params = [tf.Variable(value) for value in weights]

    @tf.function
    def __call__(self, x):
        return features(self.params, x)


def build(weights, dropout, seed):
    return ResNet50(weights)


def predict(model, x):
    return model(tf.constant(x)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]


def convolve(x, kernel, bias, stride=1, padding="VALID"):
    return tf.nn.bias_add(tf.nn.conv2d(x, kernel, stride, padding), bias)


def normalise(x, gamma, beta, mean, variance):
    return tf.compat.v1.nn.fused_batch_norm(x, gamma, beta, mean, variance, 0.001, is_training=False)[0]


def features(params, x):
    left = iter(params)

    def take(number):
        return [next(left) for _ in range(number)]

    x = convolve(tf.pad(x, ((0, 0), (3, 3), (3, 3), (0, 0))), *take(2), stride=2)
    x = tf.nn.relu(normalise(x, *take(4)))
    x = tf.nn.max_pool2d(tf.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), 3, 2, "VALID")
    for _, count, first in STAGES:
        for number in range(count):
            stride = 1 if number else first
            y = tf.nn.relu(normalise(convolve(x, *take(2), stride=stride), *take(4)))
            y = tf.nn.relu(normalise(convolve(y, *take(2), padding="SAME"), *take(4)))
            y = convolve(y, *take(2))
            if number == 0:
                x = convolve(x, *take(2), stride=stride)
            y = normalise(y, *take(4))
            if number == 0:
                x = normalise(x, *take(4))
            x = tf.nn.relu(y + x)
    return tf.reduce_mean(x, axis=(1, 2))
