"""Whether backends compute the same: outputs, layers, loss, and weights after some steps."""
