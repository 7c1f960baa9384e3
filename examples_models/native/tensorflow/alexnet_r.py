"""alexnet_r in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf

LAYERS = [
    ("Conv2D", (5, 5, 3, 32), (32,)),
    ("Conv2D", (5, 5, 32, 32), (32,)),
    ("Conv2D", (5, 5, 32, 64), (64,)),
    ("Dense", (576, 10), (10,)),
]
NORMAL = ("RandomNormal", {"stddev": 0.01})
INITIALIZERS = {"Conv2D": (NORMAL, "Zeros"), "Dense": (NORMAL, "Zeros")}


class CNN(tf.Module):
    def __init__(self, weights):
        self.params = [tf.Variable(value) for value in weights]

    def __call__(self, x):
        k1, b1, k2, b2, k3, b3, w4, b4 = self.params
        x = tf.nn.relu(tf.nn.max_pool2d(tf.nn.bias_add(tf.nn.conv2d(x, k1, 1, "SAME"), b1), 3, 2, "VALID"))
        x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k2, 1, "SAME"), b2)), 3, 2, "VALID")
        x = tf.nn.avg_pool2d(tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k3, 1, "SAME"), b3)), 3, 2, "VALID")
        return tf.matmul(tf.reshape(x, (-1, 576)), w4) + b4

    @tf.function
    def probabilities(self, x):
        return tf.nn.softmax(self(x))


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
            logits = model(x)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        self.apply(model.params, tape.gradient(loss, model.params))
        right = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), y)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))


def build(weights, dropout, seed):
    return CNN(weights)


def optimizer(model, learning_rate, momentum, nesterov):
    assert not nesterov
    return SGD(model.params, learning_rate, momentum)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]
