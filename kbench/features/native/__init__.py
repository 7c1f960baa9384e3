"""Native backends: an example's twin without Keras, measured beside it to show what Keras costs."""
