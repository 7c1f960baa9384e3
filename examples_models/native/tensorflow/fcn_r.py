"""fcn_r in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf

SIZES = (784, 2048, 4096, 1024, 10)
LAYERS = [("Dense", (inputs, outputs), (outputs,)) for inputs, outputs in zip(SIZES, SIZES[1:])]


class MLP(tf.Module):
    def __init__(self, weights):
        self.params = [tf.Variable(value) for value in weights]

    def __call__(self, x):
        w1, b1, w2, b2, w3, b3, w4, b4 = self.params
        for kernel, bias in ((w1, b1), (w2, b2), (w3, b3)):
            x = tf.sigmoid(tf.matmul(x, kernel) + bias)
        return tf.matmul(x, w4) + b4

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
    return MLP(weights)


def optimizer(model, learning_rate, momentum, nesterov):
    assert not nesterov
    return SGD(model.params, learning_rate, momentum)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]
