"""imdb_transformer in TensorFlow 2 without Keras, in a tf.function."""

import tensorflow as tf

ATTENTION = ("MultiHeadAttention", *[(64, 4, 16), (4, 16)] * 3, (4, 16, 64), (64,))
NORMALIZATION = ("LayerNormalization", (64,), (64,))
BLOCK = [ATTENTION, NORMALIZATION, ("Dense", (64, 128), (128,)), ("Dense", (128, 64), (64,)), NORMALIZATION]
LAYERS = [("TokenAndPositionEmbedding", (30000, 64), (150, 64)), *BLOCK, *BLOCK, ("Dense", (64, 2), (2,))]


def attention(x, weights):
    query, key, value, out = zip(weights[::2], weights[1::2])
    q, k, v = (tf.einsum("btw,whd->bhtd", x, kernel) + bias[:, None] for kernel, bias in (query, key, value))
    scores = tf.matmul(q * 16**-0.5, k, transpose_b=True)
    return tf.einsum("bhtd,hdw->btw", tf.matmul(tf.nn.softmax(scores), v), out[0]) + out[1]


def normalised(x, gamma, beta):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-6)


class Net(tf.Module):
    def __init__(self, weights, rate):
        self.params = [tf.Variable(value) for value in weights]
        self.rate = rate

    def block(self, x, weights, rate):
        attend, attended, (wide, wide_bias, narrow, narrow_bias), fed = (
            weights[:8], weights[8:10], weights[10:14], weights[14:],
        )  # fmt: skip
        x = normalised(x + tf.nn.dropout(attention(x, attend), rate), *attended)
        y = tf.nn.relu(tf.tensordot(x, wide, 1) + wide_bias)
        return normalised(x + tf.nn.dropout(tf.tensordot(y, narrow, 1) + narrow_bias, rate), *fed)

    def __call__(self, x, rate=0.0):
        p = self.params
        x = tf.nn.embedding_lookup(p[0], x) + p[1]
        x = self.block(self.block(x, p[2:18], rate), p[18:34], rate)
        return tf.matmul(tf.nn.dropout(tf.reduce_mean(x, axis=1), rate), p[34]) + p[35]

    @tf.function
    def probabilities(self, x):
        return tf.nn.softmax(self(x))


class Adam(tf.Module):
    """With the gradient of the embedding as one array: the squares of a token's gradients are not added up."""

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
            logits = model(x, model.rate)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        self.apply(model.params, tape.gradient(loss, model.params))
        right = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), y)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))


def build(weights, dropout, seed):
    tf.random.set_seed(seed)
    return Net(weights, 0.1 if dropout else 0.0)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return Adam(model.params, learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x, tf.int32), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x, tf.int32)).numpy()


def weights(model):
    return [param.numpy() for param in model.params]
