"""`--shims`: names of the other generation of Keras, so that a program for one runs on the other."""
