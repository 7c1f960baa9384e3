"""cifar10_vgg in TensorFlow 1: a graph that a session runs."""

import tensorflow as tf

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]


class CNN:
    def __init__(self, weights, rates, seed):
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(seed)
            self.x = tf.placeholder(tf.float32, (None, 32, 32, 3))
            self.y = tf.placeholder(tf.int32, (None,))
            self.rates = [tf.placeholder_with_default(0.0, ()) for _ in rates]  # of dropout: none but in training
            self.params = [tf.Variable(value, use_resource=True) for value in weights]
            k1, b1, k2, b2, k3, b3, k4, b4, w5, b5, w6, b6 = self.params
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(self.x, k1, 1, "SAME"), b1))
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k2, 1, "SAME"), b2))
            x = tf.nn.dropout(tf.nn.max_pool2d(x, 2, 2, "VALID"), rate=self.rates[0])
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k3, 1, "SAME"), b3))
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k4, 1, "SAME"), b4))
            x = tf.nn.dropout(tf.nn.max_pool2d(x, 2, 2, "VALID"), rate=self.rates[0])
            x = tf.nn.relu(tf.matmul(tf.reshape(x, (-1, 6400)), w5) + b5)
            self.logits = tf.matmul(tf.nn.dropout(x, rate=self.rates[1]), w6) + b6
            self.probabilities = tf.nn.softmax(self.logits)
            self.loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=self.logits)
            )
            right = tf.equal(tf.argmax(self.logits, axis=1, output_type=tf.int32), self.y)
            self.accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        self.in_training = dict(zip(self.rates, rates))
        self.session = tf.Session(graph=self.graph)
        self.session.run([param.initializer for param in self.params])


def build(weights, dropout, seed):
    return CNN(weights, (0.25, 0.5) if dropout else (0.0, 0.0), seed)


def optimizer(model, learning_rate, momentum, nesterov):
    with model.graph.as_default():
        made = tf.train.MomentumOptimizer(learning_rate, momentum, use_nesterov=nesterov)
        gradients = tf.tuple(tf.gradients(model.loss, model.params))  # all of them before the first update
        train = made.apply_gradients(zip(gradients, model.params))
        model.session.run(tf.variables_initializer(made.variables()))
    return train


def step(model, optimizer, x, y):
    given = dict(model.in_training)
    given.update({model.x: x, model.y: y})
    _, loss, accuracy = model.session.run([optimizer, model.loss, model.accuracy], given)
    return loss, accuracy


def predict(model, x):
    return model.session.run(model.probabilities, {model.x: x})


def weights(model):
    return model.session.run(model.params)
