"""Explanations: what they say adds up to what the model says, and what they show can be read."""

import math

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb import NaiveBayes
from streamnb.explain import ABSENT_TOKENS, OTHER_TOKENS, Explanation, Share
from tests.strategies import events, labels, learned, streams

tokens = st.lists(st.sampled_from("uvwxyz"), max_size=5)
documents = st.lists(st.tuples(st.fixed_dictionaries({}, optional={"t": tokens, "n": st.integers(0, 3)}), labels))


def _holds(model, event):
    explanation = model.explain_one(event)
    joint, answer = model.test_then_train([event], [None])[0], model.predict_one(event)
    if explanation is None:
        assert answer is None
        return
    places = [model.classes.index(each) for each in (explanation.label, explanation.against) if each is not None]
    assert type(explanation.label) is type(answer)
    assert explanation.label == answer
    if explanation.against is not None and joint[places[1]] > 1e-290:
        odds = math.log(joint[places[0]]) - math.log(joint[places[1]])
        assert explanation.score == pytest.approx(odds, rel=1e-9, abs=1e-9)
    assert explanation.score == math.fsum([explanation.prior, *(share.share for share in explanation.shares)])
    sizes = [abs(share.share) for share in explanation.shares]
    assert sizes == sorted(sizes, reverse=True)
    assert math.fsum(explanation.by_feature().values()) == pytest.approx(explanation.score - explanation.prior)


def _apart(stream):
    """Return a stream without labels that Python takes for equal: in a list of classes these could not be told."""
    kept = []
    for event, label in stream:
        if not any(label == other and type(label) is not type(other) for _, other in kept):
            kept.append((event, label))
    return kept


@given(streams, events)
def test_prior_and_shares_add_up_to_the_log_odds_of_the_two_most_probable_classes(stream, event):
    _holds(learned(NaiveBayes(), _apart(stream)), event)


@given(documents, tokens, st.sampled_from(["multinomial", "complement", "bernoulli"]))
def test_tokens_have_shares_of_their_own(stream, words, bags):
    _holds(learned(NaiveBayes(bags=bags), _apart(stream)), {"t": words, "n": 2})


@given(streams, events)
def test_between_any_two_classes_what_speaks_for_one_speaks_against_the_other(stream, event):
    model = learned(NaiveBayes(), _apart(stream))
    for first in model.classes[:3]:
        for second in model.classes[:3]:
            if first != second:
                one, other = model.explain_one(event, first, second), model.explain_one(event, second, first)
                assert (one.label, one.against) == (first, second)
                assert one.score == -other.score
                assert sorted(one.shares, key=repr) == sorted(
                    (share._replace(share=-share.share + 0.0) for share in other.shares), key=repr
                ) or [share.share for share in one.shares] == [-share.share for share in other.shares]


def test_an_explanation_names_what_stood_in_the_event():
    model = NaiveBayes(kinds={"words": "bag"})
    model.learn_one({"size": 1.0, "sort": {"color": "red"}, "words": ["round", "red"]}, "apple")
    model.learn_one({"size": 2.0, "sort": {"color": "green"}, "words": ["round"]}, "melon")
    explanation = model.explain_one({"size": 1.5, "sort": {"color": "blue"}, "words": {"red": 2, "new": 1}, "odd": 1})
    named = {(share.feature, share.value) for share in explanation.shares}
    assert named == {("size", 1.5), ("sort.color", "blue"), ("words", "red"), ("words", OTHER_TOKENS)}


def test_the_tokens_that_a_bag_does_not_have_are_told_of_where_they_count():
    model = NaiveBayes(bags="bernoulli")
    for words, label in ((["a", "b"], "x"), (["a"], "x"), (["c"], "y")):
        model.learn_one({"t": words}, label)
    values = {share.value for share in model.explain_one({"t": ["a"]}).shares}
    assert values == {"a", ABSENT_TOKENS}


def test_the_impossible_has_infinite_shares_and_no_traceback():
    model = NaiveBayes(smoothing=0)
    for value, label in (("a", "p"), ("b", "n")):
        model.learn_one({"k": value}, label)
    explanation = model.explain_one({"k": "a"})
    assert (explanation.label, explanation.score) == ("p", math.inf)
    nothing = model.explain_one({"k": "c"})  # impossible in every class: the prior answers
    assert nothing.score == nothing.prior == 0.0
    assert "inf" in str(explanation)


def test_nothing_learned_has_no_explanation_and_one_class_no_rival():
    model = NaiveBayes()
    assert model.explain_one({"v": 1}) is None
    model.learn_one({"v": 1}, "only")
    assert model.explain_one({"v": 1}) == Explanation("only", None, 0.0, [])
    assert str(model.explain_one({})) == "'only', the only class\n  +0.00  (prior)"


def test_what_is_no_class_is_refused_by_name():
    model = NaiveBayes()
    model.learn_one({}, "a")
    with pytest.raises(ValueError, match="'b' is not one of the classes"):
        model.explain_one({}, "b")


def test_a_notebook_shows_a_table_in_which_data_is_no_markup():
    explanation = Explanation("<b>", "&", 0.5, [Share("<script>", "\"'<", -1.0)])
    shown = explanation._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "-1.00" in shown


def test_a_plot_has_a_bar_for_each_share_and_the_prior():
    mpl.use("Agg")
    axes = Explanation("a", "b", 0.5, [Share("v", 1.0, -2.0), Share("w", "x", 1.0)]).plot(top=2)
    assert [bar.get_width() for bar in axes.patches] == [1.0, -2.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["w = 'x'", "v = 1.0"]
    plt.close(axes.figure)
