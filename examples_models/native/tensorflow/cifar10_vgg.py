"""cifar10_vgg in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]


class CNN(tf.Module):
    def __init__(self, weights, rates):
        self.params = [tf.Variable(value) for value in weights]
        self.rates = rates

    def __call__(self, x, training):
        k1, b1, k2, b2, k3, b3, k4, b4, w5, b5, w6, b6 = self.params
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k1, 1, "SAME"), b1))
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k2, 1, "SAME"), b2))
        x = self.drop(tf.nn.max_pool2d(x, 2, 2, "VALID"), self.rates[0], training)
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k3, 1, "SAME"), b3))
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k4, 1, "SAME"), b4))
        x = self.drop(tf.nn.max_pool2d(x, 2, 2, "VALID"), self.rates[0], training)
        x = tf.nn.relu(tf.matmul(tf.reshape(x, (-1, 6400)), w5) + b5)
        return tf.matmul(self.drop(x, self.rates[1], training), w6) + b6

    def drop(self, x, rate, training):
        return tf.nn.dropout(x, rate) if training and rate else x

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
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        self.apply(model.params, tape.gradient(loss, model.params))
        right = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), y)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))


def build(weights, dropout, seed):
    tf.random.set_seed(seed)
    return CNN(weights, (0.25, 0.5) if dropout else (0.0, 0.0))


def optimizer(model, learning_rate, momentum, nesterov):
    assert not nesterov
    return SGD(model.params, learning_rate, momentum)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]
