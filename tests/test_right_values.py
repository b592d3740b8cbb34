"""The textbooks' worked examples, with the right value where a textbook has it wrong."""

import itertools
import math

import pytest

from streamnb import NaiveBayes

# Mitchell (1997), Machine Learning, table 3.2.
_TENNIS = """
sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no
"""
_TENNIS_NAMES = ("outlook", "temperature", "humidity", "wind")

# Han and Kamber (2006), Data Mining, table 6.1.
_COMPUTER = """
youth high no fair no
youth high no excellent no
middle_aged high no fair yes
senior medium no fair yes
senior low yes fair yes
senior low yes excellent no
middle_aged low yes excellent yes
youth medium no fair no
youth low yes fair yes
senior medium yes fair yes
youth medium yes excellent yes
middle_aged medium no excellent yes
middle_aged high yes fair yes
senior medium no excellent no
"""
_COMPUTER_NAMES = ("age", "income", "student", "credit_rating")


def _learned(table, names, **settings):
    model = NaiveBayes(**settings)
    for line in table.split("\n")[1:-1]:
        *values, label = line.split()
        model.learn_one(dict(zip(names, values, strict=True)), label)
    assert model.learned == 14
    return model


def _tree(outlook, humidity, wind):
    return {"overcast": True, "sunny": humidity == "normal", "rain": wind == "weak"}[outlook]


def test_play_tennis_agrees_with_the_decision_tree_on_31_of_36():
    model = _learned(_TENNIS, _TENNIS_NAMES, smoothing=1)
    days = list(
        itertools.product(
            ("sunny", "overcast", "rain"), ("hot", "mild", "cool"), ("high", "normal"), ("weak", "strong")
        )
    )
    agreed = [
        (model.predict_one(dict(zip(_TENNIS_NAMES, day, strict=True))) == "yes") == _tree(day[0], day[2], day[3])
        for day in days
    ]
    assert (len(agreed), sum(agreed)) == (36, 31)


def test_play_tennis_of_mitchells_new_day():
    """Sunny, cool, high, strong: 0.0053 for yes and 0.0206 for no, so no with 0.795."""
    model = _learned(_TENNIS, _TENNIS_NAMES, smoothing=0)
    day = dict(zip(_TENNIS_NAMES, ("sunny", "cool", "high", "strong"), strict=True))
    joint = {label: math.exp(score) for label, score in model.joint_log_likelihood(day).items()}
    assert joint["yes"] == pytest.approx(9 / 14 * 2 / 9 * 3 / 9 * 3 / 9 * 3 / 9, rel=1e-12)
    assert joint["no"] == pytest.approx(5 / 14 * 3 / 5 * 1 / 5 * 4 / 5 * 3 / 5, rel=1e-12)
    assert (round(joint["yes"], 4), round(joint["no"], 4)) == (0.0053, 0.0206)
    assert round(model.predict_proba_one(day)["no"], 3) == 0.795


def test_buys_computer_of_han_and_kamber():
    """0.0282 for yes and 0.00686 for no, unsmoothed."""
    model = _learned(_COMPUTER, _COMPUTER_NAMES, smoothing=0)
    customer = dict(zip(_COMPUTER_NAMES, ("youth", "medium", "yes", "fair"), strict=True))
    joint = {label: math.exp(score) for label, score in model.joint_log_likelihood(customer).items()}
    assert joint["yes"] == pytest.approx(9 / 14 * 2 / 9 * 4 / 9 * 6 / 9 * 6 / 9, rel=1e-12)
    assert joint["no"] == pytest.approx(5 / 14 * 3 / 5 * 2 / 5 * 1 / 5 * 2 / 5, rel=1e-12)
    assert (round(joint["yes"], 4), round(joint["no"], 5)) == (0.0282, 0.00686)
    assert model.predict_one(customer) == "yes"


def test_the_prior_of_9_in_14_is_0_643():
    model = _learned(_COMPUTER, _COMPUTER_NAMES)
    assert model.p_class("yes") == pytest.approx(9 / 14, rel=1e-15)
    assert round(model.p_class("yes"), 3) == 0.643
    assert round(model.predict_proba_one({})["yes"], 3) == 0.643
    assert model.p_class("maybe") == 0.0


def test_prior_smoothing_is_a_in_the_prior():
    """(N_k + a) / (N + a K)."""
    model = _learned(_COMPUTER, _COMPUTER_NAMES, prior_smoothing=2)
    assert model.p_class("yes") == pytest.approx(11 / 18, rel=1e-12)
    assert model.predict_proba_one({})["yes"] == pytest.approx(11 / 18, rel=1e-12)


def test_the_density_of_an_income_of_120_where_incomes_are_110_give_or_take_20_is_0_0176():
    model = NaiveBayes(variance_prior=0)
    for income in (90.0, 130.0):
        model.learn_one({"income": income}, "no")
    density = math.exp(model.joint_log_likelihood({"income": 120})["no"])
    assert density == pytest.approx(math.exp(-0.125) / (20 * math.sqrt(2 * math.pi)), rel=1e-12)
    assert round(density, 4) == 0.0176


@pytest.mark.parametrize(("smoothing", "seen", "unseen"), [(1, 3 / 6, 1 / 6), (0.5, 2.5 / 4.5, 0.5 / 4.5)])
def test_a_category_is_smoothed_over_the_values_seen_in_any_class(smoothing, seen, unseen):
    """(N_ikv + s) / (N_ik + s V_i), with N_ik the events that had the feature and V_i = 3."""
    model = NaiveBayes(smoothing=smoothing)
    for colour in ("red", "red", "blue", None):
        model.learn_one({"colour": colour}, "a")
    model.learn_one({"colour": "green"}, "b")
    scores = {colour: model.joint_log_likelihood({"colour": colour})["a"] for colour in ("red", "green", "grey")}
    likelihoods = {colour: math.exp(score) / (4 / 5) for colour, score in scores.items()}
    assert likelihoods == pytest.approx({"red": seen, "green": unseen, "grey": unseen}, rel=1e-12)


def test_the_variance_of_a_class_is_pulled_to_the_pooled_one_by_so_many_observations():
    """(spread + prior x pooled) / (weight + prior), pooled = (spreads of classes + variance of all) / (N - K + 1)."""
    model = NaiveBayes(variance_prior=5)
    for value, label in ((1.0, "a"), (3.0, "a"), (10.0, "b"), (16.0, "b")):
        model.learn_one({"v": value}, label)
    overall = sum((value - 7.5) ** 2 for value in (1, 3, 10, 16)) / 4
    pooled = (2 + 18 + overall) / (4 - 2 + 1)
    for label, mean, spread in (("a", 2, 2), ("b", 13, 18)):
        variance = (spread + 5 * pooled) / (2 + 5)
        density = math.exp(-((5 - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        assert math.exp(model.joint_log_likelihood({"v": 5})[label]) == pytest.approx(density / 2, rel=1e-12)


def test_of_a_class_without_a_feature_all_classes_together_tell():
    """Its numbers are taken to lie about the mean of all, with the pooled variance."""
    for prior in (0, 5):
        model = NaiveBayes(variance_prior=prior)
        for value in (10.0, 12.0, 17.0):
            model.learn_one({"v": value}, "has")
        model.learn_one({}, "has not")
        spread = 9 + 1 + 16
        pooled = (spread + spread / 3) / (3 - 1 + 1)
        density = math.exp(-((14 - 13) ** 2) / (2 * pooled)) / math.sqrt(2 * math.pi * pooled)
        assert math.exp(model.joint_log_likelihood({"v": 14})["has not"]) == pytest.approx(density / 4, rel=1e-12)
