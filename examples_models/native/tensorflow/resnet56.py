"""resnet56 in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf

WEIGHT_DECAY = 1e-4  # of the kernels, and part of the loss, as in Keras
MOMENTUM, EPSILON = 0.9, 1e-5  # of batch normalisation
COUNTS = (3, 16, *(16,) * 18, *(32,) * 18, *(64,) * 18)  # channels of the pictures, and of each convolution
LAYERS = []
for inputs, filters in zip(COUNTS, COUNTS[1:]):
    LAYERS += [("Conv2D", (3, 3, inputs, filters)), ("BatchNormalization", *4 * ((filters,),))]
LAYERS.append(("Dense", (64, 10), (10,)))
INITIALIZERS = {"Conv2D": ("HeNormal",)}


class Convolution(tf.Module):
    def __init__(self, kernel, gamma, beta, mean, variance):
        self.kernel, self.gamma, self.beta = tf.Variable(kernel), tf.Variable(gamma), tf.Variable(beta)
        self.mean, self.variance = tf.Variable(mean, trainable=False), tf.Variable(variance, trainable=False)

    def __call__(self, x, training, halves=False):
        x = tf.nn.conv2d(x, self.kernel, 2 if halves else 1, ((0, 0), (1, 1), (1, 1), (0, 0)))
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = tf.nn.moments(x, (0, 1, 2))
            for average, own in ((self.mean, mean), (self.variance, variance)):
                average.assign(MOMENTUM * average + (1.0 - MOMENTUM) * own)
        return tf.nn.batch_normalization(x, mean, variance, self.beta, self.gamma, EPSILON)


class ResNet56(tf.Module):
    def __init__(self, weights):
        self.parts = [Convolution(*weights[at : at + 5]) for at in range(0, len(weights) - 2, 5)]
        self.kernel, self.bias = tf.Variable(weights[-2]), tf.Variable(weights[-1])
        self.params = [one for part in self.parts for one in (part.kernel, part.gamma, part.beta)]
        self.params += [self.kernel, self.bias]

    def __call__(self, x, training):
        first, *parts = self.parts
        x = tf.nn.relu(first(x, training))
        for one, two, inputs, filters in zip(parts[::2], parts[1::2], COUNTS[1::2], COUNTS[3::2]):
            y = two(tf.nn.relu(one(x, training, inputs != filters)), training)
            if inputs != filters:
                x = tf.pad(tf.nn.avg_pool2d(x, 2, 2, "VALID"), ((0, 0), (0, 0), (0, 0), (0, inputs)))
            x += y
        return tf.matmul(tf.reduce_mean(x, (1, 2)), self.kernel) + self.bias

    @tf.function
    def probabilities(self, x):
        return tf.nn.softmax(self(x, training=False))


class SGD(tf.Module):
    def __init__(self, params, learning_rate, momentum):
        self.velocities = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.settings = learning_rate, momentum

    def apply(self, params, gradients):
        learning_rate, momentum = self.settings
        for param, velocity, gradient in zip(params, self.velocities, gradients):
            velocity.assign(momentum * velocity - learning_rate * gradient)
            param.assign_add(velocity)

    @tf.function
    def step(self, model, x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            kernels = [part.kernel for part in model.parts] + [model.kernel]
            penalty = WEIGHT_DECAY / 2 * tf.add_n([tf.reduce_sum(tf.square(kernel)) for kernel in kernels])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)) + penalty
        self.apply(model.params, tape.gradient(loss, model.params))
        right = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), y)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))


def build(weights, dropout, seed):
    return ResNet56(weights)


def optimizer(model, learning_rate, momentum, nesterov):
    assert not nesterov
    return SGD(model.params, learning_rate, momentum)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x)).numpy()


def weights(model):
    inside = [(part.kernel, part.gamma, part.beta, part.mean, part.variance) for part in model.parts]
    return [value.numpy() for one in [*inside, (model.kernel, model.bias)] for value in one]
