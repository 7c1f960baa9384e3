"""mnist_cnn in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]


class CNN(tf.Module):
    def __init__(self, weights, rates):
        self.params = [tf.Variable(value) for value in weights]
        self.rates = rates

    def __call__(self, x, training):
        k1, b1, k2, b2, w3, b3, w4, b4 = self.params
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k1, 1, "VALID"), b1))
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k2, 1, "VALID"), b2))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.reshape(self.drop(x, self.rates[0], training), (-1, 9216))
        x = self.drop(tf.nn.relu(tf.matmul(x, w3) + b3), self.rates[1], training)
        return tf.matmul(x, w4) + b4

    def drop(self, x, rate, training):
        return tf.nn.dropout(x, rate) if training and rate else x

    @tf.function
    def probabilities(self, x):
        return tf.nn.softmax(self(x, training=False))


class Adadelta(tf.Module):
    def __init__(self, params, learning_rate, rho, epsilon):
        self.squares = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.updates = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.settings = learning_rate, rho, epsilon

    def apply(self, params, gradients):
        learning_rate, rho, epsilon = self.settings
        for param, square, update, gradient in zip(params, self.squares, self.updates, gradients):
            tf.raw_ops.ResourceApplyAdadelta(
                var=param.handle, accum=square.handle, accum_update=update.handle,
                lr=learning_rate, rho=rho, epsilon=epsilon, grad=gradient,
            )  # fmt: skip

    @tf.function
    def step(self, model, x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        self.apply(model.params, tape.gradient(loss, model.params))
        right = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), y)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))


def build(weights, dropout, seed):
    tf.random.set_seed(seed)
    return CNN(weights, (0.25, 0.5) if dropout else (0.0, 0.0))


def optimizer(model, learning_rate, rho, epsilon):
    return Adadelta(model.params, learning_rate, rho, epsilon)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]
