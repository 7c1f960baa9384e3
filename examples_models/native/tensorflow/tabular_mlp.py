"""tabular_mlp in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf

CATEGORIES = {"customer": 2000, "product": 500, "region": 50, "weekday": 7}
MOMENTUM, EPSILON = 0.99, 0.001  # of batch normalisation
LAYERS = [
    *(("Embedding", (count, 16)) for count in CATEGORIES.values()),
    ("Dense", (74, 128), (128,)), ("BatchNormalization", *4 * ((128,),)),
    ("Dense", (128, 64), (64,)), ("BatchNormalization", *4 * ((64,),)),
    ("Dense", (64, 1), (1,)),
]  # fmt: skip
AVERAGES = (8, 9, 14, 15)  # among the weights: moving means and variances


class Hidden(tf.Module):
    def __init__(self, kernel, bias, gamma, beta, mean, variance):
        self.params = kernel, bias, gamma, beta
        self.averages = mean, variance

    def __call__(self, x, training, rate):
        kernel, bias, gamma, beta = self.params
        mean, variance = self.averages
        x = tf.matmul(x, kernel) + bias
        if training:
            mean, variance = tf.nn.moments(x, [0])
            for average, own in zip(self.averages, (mean, variance)):
                average.assign(MOMENTUM * average + (1.0 - MOMENTUM) * own)
        x = tf.nn.relu(tf.nn.batch_normalization(x, mean, variance, beta, gamma, EPSILON))
        return tf.nn.dropout(x, rate) if training and rate else x


class MLP(tf.Module):
    def __init__(self, weights, rate):
        self.held = [tf.Variable(value, trainable=at not in AVERAGES) for at, value in enumerate(weights)]
        self.params = [one for at, one in enumerate(self.held) if at not in AVERAGES]
        self.tables, self.last = self.held[:4], self.held[16:]
        self.first, self.second = Hidden(*self.held[4:10]), Hidden(*self.held[10:16])
        self.rate = rate

    def __call__(self, x, training):
        vectors = [tf.nn.embedding_lookup(table, x[name][:, 0]) for table, name in zip(self.tables, CATEGORIES)]
        x = self.first(tf.concat([*vectors, x["numbers"]], axis=1), training, self.rate)
        return tf.matmul(self.second(x, training, self.rate), self.last[0]) + self.last[1]

    @tf.function
    def probabilities(self, x):
        return tf.sigmoid(self(x, training=False))


class Adam(tf.Module):
    """With the gradient of an embedding as one array: the squares of a category's gradients are not added up."""

    def __init__(self, params, **settings):
        self.means = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.squares = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.settings = settings
        self.steps = tf.Variable(0.0)

    @tf.function
    def step(self, model, x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, logits))
        self.steps.assign_add(1.0)
        powers = {f"{name}_power": self.settings[name] ** self.steps for name in ("beta1", "beta2")}
        parts = zip(model.params, self.means, self.squares, tape.gradient(loss, model.params))
        for param, mean, square, gradient in parts:
            moments = {"m": mean.handle, "v": square.handle}
            own = {"var": param.handle, "grad": tf.convert_to_tensor(gradient)}
            tf.raw_ops.ResourceApplyAdam(**own, **moments, **powers, **self.settings)
        return loss, tf.reduce_mean(tf.cast(tf.equal(logits > 0.0, y > 0.0), tf.float32))


def build(weights, dropout, seed):
    tf.random.set_seed(seed)
    return MLP(weights, 0.1 if dropout else 0.0)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return Adam(model.params, lr=learning_rate, beta1=beta_1, beta2=beta_2, epsilon=epsilon)


def step(model, optimizer, x, y):
    return optimizer.step(model, {name: tf.constant(one) for name, one in x.items()}, tf.constant(y))


def predict(model, x):
    return model.probabilities({name: tf.constant(one) for name, one in x.items()}).numpy()


def weights(model):
    return [one.numpy() for one in model.held]
