"""mnist_mlp in TensorFlow 1: a graph that a session runs."""

import tensorflow as tf

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


class MLP:
    def __init__(self, weights, rate, seed):
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(seed)
            self.x = tf.placeholder(tf.float32, (None, 784))
            self.y = tf.placeholder(tf.int32, (None,))
            self.rate = tf.placeholder_with_default(0.0, ())  # of dropout: none but in training
            self.params = [tf.Variable(value, use_resource=True) for value in weights]
            w1, b1, w2, b2, w3, b3 = self.params
            x = tf.nn.dropout(tf.nn.relu(tf.matmul(self.x, w1) + b1), rate=self.rate)
            x = tf.nn.dropout(tf.nn.relu(tf.matmul(x, w2) + b2), rate=self.rate)
            self.logits = tf.matmul(x, w3) + b3
            self.probabilities = tf.nn.softmax(self.logits)
            self.loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=self.logits)
            )
            right = tf.equal(tf.argmax(self.logits, axis=1, output_type=tf.int32), self.y)
            self.accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        self.training_rate = rate
        self.session = tf.Session(graph=self.graph)
        self.session.run([param.initializer for param in self.params])


def build(weights, dropout, seed):
    return MLP(weights, 0.2 if dropout else 0.0, seed)


def optimizer(model, learning_rate, rho, epsilon):
    """RMSprop: TensorFlow's own begins with a mean square of 1, and has epsilon under the root."""
    with model.graph.as_default():
        gradients = tf.tuple(tf.gradients(model.loss, model.params))  # all of them before the first update
        updates, squares = [], []
        for param, gradient in zip(model.params, gradients):
            squares.append(tf.Variable(tf.zeros(param.shape), use_resource=True))
            square = squares[-1].assign(rho * squares[-1] + (1.0 - rho) * tf.square(gradient))
            updates.append(param.assign_sub(learning_rate * gradient / (tf.sqrt(square) + epsilon)))
    model.session.run([square.initializer for square in squares])
    return tf.group(*updates)


def step(model, optimizer, x, y):
    given = {model.x: x, model.y: y, model.rate: model.training_rate}
    _, loss, accuracy = model.session.run([optimizer, model.loss, model.accuracy], given)
    return loss, accuracy


def predict(model, x):
    return model.session.run(model.probabilities, {model.x: x})


def weights(model):
    return model.session.run(model.params)
