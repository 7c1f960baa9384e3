"""Convolution kernels as the backends keep them, to and from the layout that all the others share.

The shared layout is (rows, columns, inputs, filters), of a kernel that is correlated with the picture.
"""

import keras

CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "ConvLSTM2DCell", "ConvLSTM2D")
KERNELS = ("kernel", "recurrent_kernel")


def shared_shape(owner, name, shape):
    """The shape that the weight `name` of the layer `owner` has on the other backends."""
    if _filters_first(owner, name):
        return tuple(shape[2:]) + (shape[1], shape[0])
    return tuple(shape)


def as_backend_keeps(owner, name, value):
    """A weight in the shared layout as this backend wants it."""
    if _filters_first(owner, name):
        spatial = tuple(range(value.ndim - 2))
        return value.transpose((value.ndim - 1, value.ndim - 2) + spatial)
    if _flipped(owner, name):
        return value[tuple([slice(None, None, -1)] * (value.ndim - 2))]
    return value


def as_all_share(owner, name, value):
    """A weight as this backend keeps it, in the shared layout: the way back from `as_backend_keeps`."""
    if _filters_first(owner, name):
        return value.transpose(tuple(range(2, value.ndim)) + (1, 0))
    if _flipped(owner, name):
        return value[tuple([slice(None, None, -1)] * (value.ndim - 2))]
    return value


def _filters_first(owner, name):
    """keras-mxnet has (filters, inputs, rows, columns) where pictures are channels_first."""
    return _is_kernel(owner, name, "mxnet") and owner.data_format == "channels_first"


def _flipped(owner, name):
    """Theano convolves in the strict sense: with the kernel flipped."""
    return _is_kernel(owner, name, "theano")


def _is_kernel(owner, name, backend):
    return keras.backend.backend() == backend and owner.__class__.__name__ in CONVOLUTIONS and name in KERNELS
