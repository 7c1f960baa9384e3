"""cifar10_efficientnet in TensorFlow 2 without Keras: a tf.Module, a GradientTape and a tf.function."""

import tensorflow as tf

WIDTHS = (32, 16, 24, 24, 40, 40, 80, 80, 80, 112, 112, 112, 192, 192, 192, 192, 320)  # before and behind the blocks
SIZES, STRIDES = (3, 3, 3, 5, 5, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5, 3), (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)
HE = ("VarianceScaling", {"scale": 2.0, "mode": "fan_out", "distribution": "normal"})
INITIALIZERS = {"Conv2D": (HE,), "DepthwiseConv2D": (HE,), "Dense": (HE, "Zeros"), -1: ("GlorotUniform", "Zeros")}


def normed(*shape):
    kind, filters = ("DepthwiseConv2D", shape[2]) if shape[3] == 1 else ("Conv2D", shape[3])
    return [(kind, shape), ("BatchNormalization", *4 * ((filters,),))]


LAYERS = normed(3, 3, 3, 32)
for before, filters, size in zip(WIDTHS, WIDTHS[1:], SIZES):
    inside, few = before if before == 32 else 6 * before, before // 4  # the first block is not wider inside
    LAYERS += [*(normed(1, 1, before, inside) if inside > before else ()), *normed(size, size, inside, 1)]
    LAYERS += [("Dense", (inside, few), (few,)), ("Dense", (few, inside), (inside,)), *normed(1, 1, inside, filters)]
LAYERS += [*normed(1, 1, 320, 1280), ("Dense", (1280, 10), (10,))]


class EfficientNet(tf.Module):
    def __init__(self, weights, rate):
        trained = [place < 2 for layer in LAYERS for place, _ in enumerate(layer[1:])]
        self.held = [tf.Variable(value, trainable=one) for value, one in zip(weights, trained)]
        self.params = [one for one in self.held if one.trainable]
        self.rate = rate

    def __call__(self, x, training):
        left = iter(self.held)

        def convolve(x, stride=1, each=False):
            kernel, gamma, beta, *averages = (next(left) for _ in range(5))
            sides, strides = 2 * (kernel.shape[0] // 2,), (1, stride, stride, 1)
            x = (tf.nn.depthwise_conv2d if each else tf.nn.conv2d)(x, kernel, strides, ((0, 0), sides, sides, (0, 0)))
            own = tf.nn.moments(x, (0, 1, 2)) if training else averages
            for average, new in zip(averages, own if training else ()):
                average.assign(0.99 * average + 0.01 * new)
            return tf.nn.batch_normalization(x, *own, beta, gamma, 0.001)

        def dense(x):
            return tf.matmul(x, next(left)) + next(left)

        x = tf.nn.silu(convolve(x))
        for before, stride in zip(WIDTHS, STRIDES):
            y = x if before == 32 else tf.nn.silu(convolve(x))
            y = tf.nn.silu(convolve(y, stride, each=True))
            y = convolve(y * tf.sigmoid(dense(tf.nn.silu(dense(tf.reduce_mean(y, (1, 2))))))[:, None, None])
            x = x + y if x.shape == y.shape else y
        x = tf.reduce_mean(tf.nn.silu(convolve(x)), (1, 2))
        return dense(tf.nn.dropout(x, self.rate) if training and self.rate else x)

    @tf.function
    def probabilities(self, x):
        return tf.nn.softmax(self(x, training=False))


class Adam(tf.Module):
    def __init__(self, params, **settings):
        self.means = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.squares = [tf.Variable(tf.zeros_like(value)) for value in params]
        self.settings = settings
        self.steps = tf.Variable(0.0)

    @tf.function
    def step(self, model, x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        self.steps.assign_add(1.0)
        powers = {f"{name}_power": self.settings[name] ** self.steps for name in ("beta1", "beta2")}
        parts = zip(model.params, self.means, self.squares, tape.gradient(loss, model.params))
        for param, mean, square, gradient in parts:
            moments = {"m": mean.handle, "v": square.handle}
            tf.raw_ops.ResourceApplyAdam(var=param.handle, **moments, **powers, **self.settings, grad=gradient)
        right = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), y)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))


def build(weights, dropout, seed):
    tf.random.set_seed(seed)
    return EfficientNet(weights, 0.2 if dropout else 0.0)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return Adam(model.params, lr=learning_rate, beta1=beta_1, beta2=beta_2, epsilon=epsilon)


def step(model, optimizer, x, y):
    return optimizer.step(model, tf.constant(x), tf.constant(y, tf.int32))


def predict(model, x):
    return model.probabilities(tf.constant(x)).numpy()


def weights(model):
    return [one.numpy() for one in model.held]
