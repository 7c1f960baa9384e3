"""Trains two recurrent networks, based upon a story and a question, on the bAbI task QA2.

The question's LSTM gives one vector that is added to every word of the story; a second LSTM reads the result and
answers with a word of the vocabulary. QA2 (two supporting facts, 1,000 stories in English) is hard for it: the
baseline in the bAbI paper is 0.20, and 40 epochs get to about 0.37.

- [Towards AI-Complete Question Answering: A Set of Prerequisite Toy Tasks](https://arxiv.org/abs/1502.05698)
"""

from keras.layers import LSTM, Dense, Dropout, Embedding, Input, RepeatVector, add
from keras.models import Model

DATA = "babi_qa2"
INPUT = "sequence"
BATCH_SIZE = 32
VOCABULARY = 36
HIDDEN = 50
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.35  # of validation: the time until then is reported
PARAMETERS = 45836
PROFILES = {
    "smoke": {"samples": 64, "validation_samples": 32, "epochs": 2},
    "quick": {"samples": 256, "validation_samples": 50, "epochs": 6},
    "full": {"samples": 950, "validation_samples": 50, "epochs": 40},
}


def build_model(input_shape, num_classes):
    story_shape, question_shape = input_shape

    story = Input(shape=story_shape)
    encoded_story = Embedding(VOCABULARY, HIDDEN)(story)
    encoded_story = Dropout(0.3)(encoded_story)

    question = Input(shape=question_shape)
    encoded_question = Embedding(VOCABULARY, HIDDEN)(question)
    encoded_question = Dropout(0.3)(encoded_question)
    encoded_question = LSTM(HIDDEN, recurrent_activation="sigmoid")(encoded_question)
    encoded_question = RepeatVector(story_shape[0])(encoded_question)

    merged = add([encoded_story, encoded_question])
    merged = LSTM(HIDDEN, recurrent_activation="sigmoid")(merged)
    merged = Dropout(0.3)(merged)
    answer = Dense(num_classes, activation="softmax")(merged)
    return Model([story, question], answer)
