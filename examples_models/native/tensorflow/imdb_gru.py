"""imdb_gru in TensorFlow 2 without Keras: a GRU that resets before the product, in a tf.function."""

import tensorflow as tf

LAYERS = [("Embedding", (30000, 125)), ("GRU", (125, 300), (100, 300), (300,)), ("Dense", (100, 2), (2,))]


class Net(tf.Module):
    def __init__(self, weights):
        self.params = [tf.Variable(value) for value in weights]

    def __call__(self, x):
        vectors, kernel, recurrent, bias, dense, dense_bias = self.params
        inputs = tf.tensordot(tf.nn.embedding_lookup(vectors, x), kernel, 1) + bias
        return tf.matmul(self.last_state(tf.transpose(inputs, (1, 0, 2)), recurrent), dense) + dense_bias

    @tf.function
    def last_state(self, inputs, recurrent):
        state = tf.zeros((tf.shape(inputs)[1], 100))
        for given in inputs:
            gates = tf.sigmoid(given[:, :200] + tf.matmul(state, recurrent[:, :200]))
            update, reset = tf.split(gates, 2, axis=1)
            new = tf.tanh(given[:, 200:] + tf.matmul(reset * state, recurrent[:, 200:]))
            state = update * state + (1.0 - update) * new
        return state

    @tf.function
    def probabilities(self, x):
        return tf.nn.softmax(self(x))


class Adam(tf.Module):
    """With the gradient of the embedding as one array: the squares of a word's gradients are not added up."""

    def __init__(self, params, **settings):
        self.means = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.squares = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.settings = settings
        self.steps = tf.Variable(0.0)

    def apply(self, params, gradients):
        beta_1, beta_2 = self.settings["beta_1"], self.settings["beta_2"]
        self.steps.assign_add(1.0)
        for param, mean, square, gradient in zip(params, self.means, self.squares, gradients):
            tf.raw_ops.ResourceApplyAdam(
                var=param.handle, m=mean.handle, v=square.handle, beta1_power=beta_1**self.steps,
                beta2_power=beta_2**self.steps, lr=self.settings["learning_rate"], beta1=beta_1, beta2=beta_2,
                epsilon=self.settings["epsilon"], grad=tf.convert_to_tensor(gradient),
            )  # fmt: skip

    @tf.function
    def step(self, model, x, y):
        with tf.GradientTape() as tape:
            logits = model(x)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        self.apply(model.params, tape.gradient(loss, model.params))
        right = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), y)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))


def build(weights, dropout, seed):
    return Net(weights)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return Adam(model.params, learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x, tf.int32), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x, tf.int32)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]
