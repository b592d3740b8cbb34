"""Room for events: a model makes it as they need it, and none of it shows in what the model is or answers."""

import copy
import pickle
import random

import numpy as np
import pytest

from streamnb import AdaptiveBayes, NaiveBayes, load, save

MODELS = [NaiveBayes, AdaptiveBayes]
COPIES = {
    "copied": copy.deepcopy,
    "pickled": lambda model: pickle.loads(pickle.dumps(model)),  # noqa: S301 - our own
    "saved": lambda model: load(save(model)),
}


def _texts(seed, size):
    """Yield events whose text grows and shrinks, with a number now and then, and labels of more and more classes."""
    chance = random.Random(seed)
    for place in range(size):
        words = " ".join(f"w{chance.randrange(50)}" for _ in range(chance.choice((0, 1, 3, 40))))
        numbers = {f"n{n}": chance.gauss(0, 1) for n in range(chance.choice((0, 1, 9)))}
        yield {"text": words, **numbers}, chance.randrange(1 + min(place // 20, 3))


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_events_of_any_length_give_in_a_batch_what_they_give_one_by_one(make, seed):
    events, labels = map(list, zip(*_texts(seed, 80), strict=True))
    whole, single = make(kinds={"text": "text"}), make(kinds={"text": "text"})
    probabilities = whole.test_then_train(events, labels)
    for event, label, row in zip(events, labels, probabilities, strict=True):
        answer = single.predict_proba_one(event)
        assert [answer.get(code, 0.0) for code in whole.classes] == row.tolist()
        single.learn_one(event, label)
    assert save(whole) == save(single)


@pytest.mark.parametrize("make", MODELS)
def test_asking_about_long_events_changes_nothing(make):
    model = make(kinds={"text": "text"})
    for event, label in _texts(1, 40):
        model.learn_one(event, label)
    before = save(model), pickle.dumps(model)
    for length in (0, 10, 1_000):
        event = {"text": " ".join(f"w{word}" for word in range(length)), "n0": 1.0}
        assert np.isclose(sum(model.predict_proba_one(event).values()), 1.0)
        explanation = model.explain_one(event)
        assert explanation.label == model.predict_one(event)
    assert (save(model), pickle.dumps(model)) == before


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_goes_on_the_same(make, way):
    model = make(kinds={"text": "text"})
    twin = make(kinds={"text": "text"})
    for place, (event, label) in enumerate(_texts(2, 60)):
        if place % 20 == 0:
            twin = COPIES[way](model)
        assert twin.predict_proba_one(event) == model.predict_proba_one(event)
        model.learn_one(event, label)
        twin.learn_one(event, label)
        assert twin.learned == model.learned == place + 1
    assert save(twin) == save(model)
