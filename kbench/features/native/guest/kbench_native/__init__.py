"""The guest of native backends: builds, trains and runs an example's twin in a framework's own API, without Keras."""
