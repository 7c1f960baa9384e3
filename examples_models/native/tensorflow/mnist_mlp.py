"""mnist_mlp in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


class MLP(tf.Module):
    def __init__(self, weights, rate):
        self.params = [tf.Variable(value) for value in weights]
        self.rate = rate

    def __call__(self, x, training):
        w1, b1, w2, b2, w3, b3 = self.params
        x = self.drop(tf.nn.relu(tf.matmul(x, w1) + b1), training)
        x = self.drop(tf.nn.relu(tf.matmul(x, w2) + b2), training)
        return tf.matmul(x, w3) + b3

    def drop(self, x, training):
        return tf.nn.dropout(x, self.rate) if training and self.rate else x

    @tf.function
    def probabilities(self, x):
        return tf.nn.softmax(self(x, training=False))


class RMSprop(tf.Module):
    """With epsilon beside the root: TensorFlow's own operation has it under there."""

    def __init__(self, params, learning_rate, rho, epsilon):
        self.squares = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.learning_rate, self.rho, self.epsilon = learning_rate, rho, epsilon

    def apply(self, params, gradients):
        for param, square, gradient in zip(params, self.squares, gradients):
            square.assign(self.rho * square + (1.0 - self.rho) * tf.square(gradient))
            param.assign_sub(self.learning_rate * gradient / (tf.sqrt(square) + self.epsilon))

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
    return MLP(weights, 0.2 if dropout else 0.0)


def optimizer(model, learning_rate, rho, epsilon):
    return RMSprop(model.params, learning_rate, rho, epsilon)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]
