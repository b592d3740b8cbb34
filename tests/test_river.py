"""The classifier is one of river's: its checks, pipelines, wrappers, metrics and data frames."""

import copy
import datetime as dt
import pickle
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import (
    base,
    checks,
    compose,
    datasets,
    drift,
    ensemble,
    evaluate,
    feature_extraction,
    imblearn,
    metrics,
    multiclass,
    preprocessing,
    stream,
)

from streamnb import AdaptiveBayes, Measures, NaiveBayes, load, save
from tests.strategies import same

MODELS = [NaiveBayes, AdaptiveBayes]
CHECKS = [
    pytest.param(kind, check, id=f"{kind.__name__}-{check.__name__}-{place}")
    for kind in MODELS
    for place, check in enumerate(checks.yield_checks(kind()))
]


@pytest.mark.parametrize(("kind", "check"), CHECKS)
def test_rivers_own_checks_hold(kind, check):
    check(kind().clone())


@pytest.mark.parametrize("kind", MODELS)
def test_check_estimator_holds_whole(kind):
    checks.check_estimator(kind())
    names = [check.__name__ for of, check in (case.values for case in CHECKS) if of is kind]
    assert {*names} >= {"check_learn_many_matches_learn_one", "check_predict_proba_many_matches_predict_proba_one"}
    assert len(names) > 50


@pytest.mark.parametrize("kind", MODELS)
def test_no_check_is_skipped(kind):
    assert kind()._unit_test_skips() == set()


@pytest.mark.parametrize("kind", MODELS)
def test_it_is_a_multiclass_mini_batch_classifier_that_wants_labels(kind):
    model = kind()
    assert isinstance(model, base.MiniBatchClassifier)
    assert model._multiclass is True
    assert model._supervised is True


@pytest.mark.parametrize("kind", MODELS)
def test_a_clone_has_the_settings_and_none_of_the_learning(kind):
    model = kind(smoothing=0.5, unbiased=True, kinds={"v": "categorical"})
    model.learn_one({"v": 1}, "a")
    clone = model.clone()
    assert clone._get_params() == model._get_params()
    assert (clone.learned, clone.classes, clone.schema()) == (0, [], {})
    assert model.clone({"smoothing": 2.0}).smoothing == 2.0


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_in_a_pipeline_is_cloned_pickled_and_copied_at_any_time(kind):
    pipeline = compose.SelectType(float) | preprocessing.StandardScaler() | kind()
    for i in range(50):
        for twin in (pickle.loads(pickle.dumps(pipeline)), copy.deepcopy(pipeline)):  # noqa: S301 - our own
            assert twin.predict_proba_one({"a": 0.5}) == pipeline.predict_proba_one({"a": 0.5})
            twin.learn_one({"a": 9.0, "k": "x"}, True)
        pipeline.learn_one({"a": float(i % 7), "k": "x"}, i % 3 == 0)
    assert pipeline[kind.__name__].learned == 50
    assert pipeline[kind.__name__].schema() == {"a": "numeric"}
    assert pipeline.clone()[kind.__name__].learned == 0


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "build",
    [
        lambda model: preprocessing.StandardScaler() | model,
        lambda model: compose.SelectType(float) | preprocessing.MinMaxScaler() | model,
        lambda model: (compose.SelectType(float) + (compose.SelectType(int) | preprocessing.OneHotEncoder())) | model,
        lambda model: preprocessing.StatImputer() | model,
        lambda model: ensemble.BaggingClassifier(model, n_models=3, seed=1),
        lambda model: ensemble.ADWINBaggingClassifier(model, n_models=3, seed=1),
        multiclass.OneVsRestClassifier,
        multiclass.OneVsOneClassifier,
    ],
)
def test_it_does_well_in_pipelines_and_wrappers(build, kind):
    metric = evaluate.progressive_val_score(datasets.Phishing(), build(kind()), metrics.Accuracy())
    assert metric.get() > 0.85


def test_words_counted_by_river_are_learned():
    model = feature_extraction.BagOfWords(lowercase=True) | NaiveBayes()
    for text, label in [("buy cheap pills", "spam"), ("cheap cheap watches", "spam"), ("lunch at noon", "ham")] * 3:
        model.learn_one(text, label)
    assert model.predict_one("cheap cheap lunch watches") == "spam"


@pytest.mark.parametrize("wrapper", [ensemble.BaggingClassifier, ensemble.AdaBoostClassifier])
def test_an_ensemble_answers_as_soon_as_its_members_have_learned(wrapper):
    model = wrapper(NaiveBayes(), n_models=3, seed=1)
    for place, (x, y) in enumerate(datasets.Phishing().take(50)):
        answer = model.predict_one(x)
        assert place < 5 or answer in (True, False)
        model.learn_one(x, y)


@pytest.mark.parametrize("train_in_background", [False, True])
def test_a_drift_puts_a_model_in_its_place_that_did_not_learn_all_before(train_in_background):
    """The labels swap after 500 events; a model that remembered them all would be wrong for 500 more."""
    wrapped = drift.DriftRetrainingClassifier(
        NaiveBayes(), drift_detector=drift.binary.DDM(), train_in_background=train_in_background
    )
    first, chance = wrapped.model, random.Random(1)
    for i in range(600):
        label = (i % 2 == 0) == (i < 500) if chance.random() < 0.95 else chance.random() < 0.5
        event = {"v": i % 2 + chance.gauss(0, 0.1)}
        wrapped.predict_one(event)
        wrapped.learn_one(event, label)
    assert wrapped.model is not first
    assert wrapped.predict_one({"v": 0.0}) is False
    assert wrapped.predict_one({"v": 1.0}) is True


@pytest.mark.parametrize(
    "sampler",
    [
        lambda model: imblearn.RandomUnderSampler(model, desired_dist={True: 0.5, False: 0.5}, seed=1),
        lambda model: imblearn.RandomOverSampler(model, desired_dist={True: 0.5, False: 0.5}, seed=1),
        lambda model: imblearn.RandomSampler(model, desired_dist={True: 0.5, False: 0.5}, sampling_rate=0.5, seed=1),
        lambda model: imblearn.HardSamplingClassifier(model, size=20, p=0.2, seed=1),
    ],
    ids=["under", "over", "both", "hard"],
)
def test_rivers_samplers_run_with_it_inside(sampler):
    """On a stream with one event of twenty in a class, both classes are found."""
    wrapped, recall = sampler(NaiveBayes()), metrics.BalancedAccuracy()
    chance = random.Random(7)
    for i in range(600):
        label = chance.random() < 0.05
        event = {"v": chance.gauss(3.0 if label else 0.0, 1.0), "k": "ab"[label] if chance.random() < 0.8 else "c"}
        answer = wrapped.predict_one(event)
        if i > 100 and answer is not None:
            recall.update(label, answer)
        wrapped.learn_one(event, label)
    assert recall.get() > 0.85


def test_random_patches_run_with_it_inside():
    forest = ensemble.SRPClassifier(NaiveBayes(), n_models=3, seed=1)
    assert evaluate.progressive_val_score(datasets.Phishing(), forest, metrics.Accuracy()).get() > 0.8


def test_one_vs_rest_agrees_with_many_classes_at_once_on_easy_data():
    accuracies = [
        evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy()).get()
        for model in (NaiveBayes(), multiclass.OneVsRestClassifier(NaiveBayes()))
    ]
    assert min(accuracies) > 0.7


@pytest.mark.parametrize("delay", ["lag", dt.timedelta(minutes=5), lambda x, _: x["lag"]])
def test_a_time_among_the_features_is_no_error(delay):
    """With moment and delay as field names the datetime stays among the features, where it is a bad value."""
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    events = [
        ({"v": float(i % 2), "t": start + dt.timedelta(minutes=i), "lag": dt.timedelta(minutes=i % 7)}, i % 2 == 1)
        for i in range(300)
    ]
    model = NaiveBayes()
    metric = evaluate.progressive_val_score(events, model, metrics.Accuracy(), moment="t", delay=delay)
    assert metric.get() > 0.9
    assert model.schema() == {"v": "numeric"}
    assert set(model.bad_values) == {"t", "lag"}
    assert model.bad_values["t"] == model.learned


def _progressive(events):
    """Return our measures of a stream, in batches."""
    model, measures = NaiveBayes(), Measures()
    for part in range(0, len(events), 100):
        xs, ys = zip(*events[part : part + 100], strict=True)
        rows = model.test_then_train(list(xs), ys)
        measures.update(rows, model.classes, ys)
    return measures


@pytest.mark.parametrize("dataset", [datasets.Phishing(), datasets.ImageSegments()], ids=["Phishing", "ImageSegments"])
def test_accuracy_is_that_of_rivers_progressive_validation(dataset):
    events = list(dataset)
    theirs = evaluate.progressive_val_score(events, NaiveBayes(), metrics.Accuracy()).get()
    measures = _progressive(events)
    assert measures.unanswered == 1
    assert measures.accuracy == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize(
    ("dataset", "metric"),
    [
        pytest.param(datasets.Phishing(), metrics.LogLoss(), id="LogLoss on Phishing"),
        pytest.param(datasets.ImageSegments(), metrics.CrossEntropy(), id="CrossEntropy on ImageSegments"),
    ],
)
def test_log_loss_is_that_of_rivers_progressive_validation(dataset, metric):
    """After one event of each class: of a class not met yet, ours is -log 1e-15, river's either 0 or a rounding off."""
    events = list(dataset)
    warm, model, measures = NaiveBayes(), NaiveBayes(), Measures()
    for y, x in {y: x for x, y in reversed(events)}.items():
        warm.learn_one(x, y)
        model.learn_one(x, y)
    evaluate.progressive_val_score(events, warm, metric)
    xs, ys = zip(*events, strict=True)
    measures.update(model.test_then_train(list(xs), ys), model.classes, ys)
    assert measures.log_loss == pytest.approx(metric.get(), rel=1e-12)
    assert same(warm, model)


def test_kappa_is_rivers():
    events = list(datasets.ImageSegments())
    theirs = evaluate.progressive_val_score(events, NaiveBayes(), metrics.CohenKappa()).get()
    assert _progressive(events).kappa == pytest.approx(theirs, rel=1e-12)


# Frames


def _trained():
    model = NaiveBayes()
    for i in range(60):
        model.learn_one({"n": float(i % 9), "c": "xyz"[i % 3], "b": i % 4 == 0}, "pq"[i % 2])
    return model


ROWS = [
    {"n": 1.0, "c": "x", "b": True},
    {"n": None, "c": "y", "b": False},
    {"n": 3.5, "c": None, "b": None},
    {"n": None, "c": None, "b": None},
    {"n": 8.0, "c": "never seen", "b": True},
]
INDEX = [7, 3, 9, 3, 1]


def _columns():
    return {name: [row[name] for row in ROWS] for name in ROWS[0]}


FRAMES = {
    "pandas": lambda: pd.DataFrame(ROWS, index=INDEX),
    "pandas nullable": lambda: pd.DataFrame(ROWS, index=INDEX).convert_dtypes(),
    "pandas categorical": lambda: pd.DataFrame(ROWS, index=INDEX).astype({"c": "category"}),
    "pandas objects": lambda: pd.DataFrame(ROWS, index=INDEX, dtype=object),
    "pandas NA": lambda: pd.DataFrame(ROWS, index=INDEX, dtype=object).where(lambda frame: frame.notna(), pd.NA),
    "pandas float32": lambda: pd.DataFrame(ROWS, index=INDEX).astype({"n": "float32"}),
    "polars": lambda: pl.DataFrame(_columns()),
    "polars categorical": lambda: pl.DataFrame(_columns()).with_columns(pl.col("c").cast(pl.Categorical)),
    "polars float32": lambda: pl.DataFrame(_columns()).with_columns(pl.col("n").cast(pl.Float32)),
    "polars NaN": lambda: pl.DataFrame(_columns()).with_columns(pl.col("n").fill_null(float("nan"))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_answered_by_its_own_kind_row_for_row(kind):
    model, frame = _trained(), FRAMES[kind]()
    before = save(model)
    answers, best = model.predict_proba_many(frame), model.predict_many(frame)
    assert type(answers) is type(frame)
    expected = [model.predict_proba_one(row) for row in ROWS]
    if isinstance(frame, pd.DataFrame):
        assert list(answers.index) == list(best.index) == INDEX
        given_rows = answers.to_dict("records")
    else:
        given_rows = answers.to_dicts()
    assert given_rows == expected
    assert list(best) == [model.predict_one(row) for row in ROWS]
    assert save(model) == before


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_learned_as_its_rows_are(kind):
    framed, one, labels = _trained(), _trained(), ["p", "q", "new", "p", "q"]
    frame = FRAMES[kind]()
    series = pd.Series(labels, index=INDEX) if isinstance(frame, pd.DataFrame) else pl.Series(labels)
    framed.learn_many(frame, series)
    for row, label in zip(ROWS, labels, strict=True):
        one.learn_one(row, label)
    assert same(framed, one)


@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2**40, None]), st.sampled_from([0.5, -2.0, None]), st.sampled_from(["p", "q"])),
        min_size=1,
        max_size=40,
    )
)
def test_nullable_integers_and_floats_are_learned_as_numbers(rows):
    framed, one = NaiveBayes(), NaiveBayes()
    frame = pd.DataFrame(
        {"i": pd.array([i for i, _, _ in rows], "Int64"), "f": pd.array([f for _, f, _ in rows], "Float64")}
    )
    framed.learn_many(frame, pd.Series([label for _, _, label in rows], dtype="string"))
    for i, f, label in rows:
        one.learn_one({"i": i, "f": f}, label)
    assert same(framed, one)


@pytest.mark.parametrize("columns", [[0, 1], pd.RangeIndex(2), [5, "v"]], ids=repr)
def test_columns_may_be_named_by_integers(columns):
    """As those of a frame made from an array are."""
    frame = pd.DataFrame(np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]]), columns=columns)
    framed, one = NaiveBayes(), NaiveBayes()
    framed.learn_many(frame, pd.Series(["a", "b", "a"]))
    for row, label in zip(frame.to_dict("records"), ["a", "b", "a"], strict=True):
        one.learn_one(row, label)
    assert same(framed, one)
    assert framed.predict_many(frame).tolist() == [one.predict_one(row) for row in frame.to_dict("records")]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_before_any_label_a_frame_has_no_answers(make):
    frame = make({"v": [1.0, 2.0]})
    model = NaiveBayes()
    assert model.predict_proba_many(frame).shape[1] == 0
    assert list(model.predict_many(frame)) == [None, None]
    model.learn_many(frame, [None, None])
    assert list(model.predict_many(frame)) == [None, None]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_frame_without_rows_or_without_columns_is_no_error(make):
    model = _trained()
    before = save(model)
    model.learn_many(make({"n": [], "c": []}), [])
    assert save(model) == before
    assert model.predict_proba_many(make({"n": [], "c": []})).shape == (0, 2)
    assert len(model.predict_many(make({"n": [], "c": []}))) == 0


def test_a_frame_of_rows_without_columns_has_the_prior_for_each():
    model = _trained()
    answers = model.predict_proba_many(pd.DataFrame(index=INDEX))
    assert answers.to_dict("records") == [model.predict_proba_one({})] * 5
    model.learn_many(pd.DataFrame(index=INDEX), ["p"] * 5)
    assert model.class_weights == [35.0, 30.0]


LABELS = [1, "1", True, 1.0, "a"]


def _mixed():
    """Return a model of labels that Python, or their text, takes for equal, one for each value of a feature."""
    model = NaiveBayes(smoothing=0)
    for place, label in enumerate(LABELS):
        model.learn_one({"c": f"v{place}"}, label)
    return model


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_probabilities_in_a_frame_are_shares_of_one_whatever_the_labels(make):
    """Labels that would name one column share it."""
    model = _mixed()
    answers = model.predict_proba_many(make({"c": [f"v{place}" for place in range(5)]}))
    totals = answers.sum(axis=1) if make is pd.DataFrame else answers.sum_horizontal()
    assert list(totals) == pytest.approx([1.0] * 5, rel=1e-12)


def test_answers_of_mixed_types_keep_them_in_a_frame_that_can():
    best = _mixed().predict_many(pd.DataFrame({"c": [f"v{place}" for place in range(5)]}))
    assert list(map(repr, best)) == list(map(repr, LABELS))


def test_answers_of_mixed_types_in_a_frame_that_cannot_hold_them_are_no_error():
    best = _mixed().predict_many(pl.DataFrame({"c": [f"v{place}" for place in range(5)]}))
    assert [str(label) for label in best] == [str(label) for label in LABELS]


def test_labels_keep_their_value_and_type_between_one_and_many():
    model = NaiveBayes()
    model.learn_many(pd.DataFrame({"k": ["a", "b"]}), pd.Series([1, 0]))
    model.learn_one({"k": "a"}, 1)
    assert [(type(label), label) for label in model.classes] == [(int, 1), (int, 0)]
    assert model.predict_many(pd.DataFrame({"k": ["a", "b"]})).tolist() == [1, 0]


def test_a_class_of_a_later_batch_does_not_take_the_place_of_another():
    model = NaiveBayes()
    model.learn_many(pd.DataFrame({"k": ["a", "b"]}), pd.Series([0, 1]))
    model.learn_many(pd.DataFrame({"k": ["c"]}), pd.Series([2]))
    assert [model.predict_one({"k": k}) for k in "abc"] == [0, 1, 2]
    assert model.predict_many(pd.DataFrame({"k": ["c", "a"]})).tolist() == [2, 0]


@pytest.mark.parametrize("wrong", [pd.Series(["a"]), pd.Series(["a"] * 3)])
def test_labels_that_are_not_one_for_each_row_are_refused(wrong):
    model = _trained()
    before = save(model)
    with pytest.raises(ValueError, match="labels"):
        model.learn_many(pd.DataFrame({"n": [1.0, 2.0]}), wrong)
    assert save(model) == before


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2, 2)), np.array(1.0)])
def test_an_array_that_is_not_events_by_features_is_refused(array):
    with pytest.raises(ValueError, match="axes"):
        NaiveBayes().learn_many(array, ["a"] * 3)


def test_arrays_of_any_type_are_learned_as_their_values():
    for dtype in (np.float32, np.int8, np.uint64, np.bool_, object, "U3"):
        array = np.array([[1, 0], [0, 1], [1, 1]]).astype(dtype)
        by_array, one = NaiveBayes(), NaiveBayes()
        by_array.learn_many(array, ["a", "b", "a"])
        for row, label in zip(array.tolist(), ["a", "b", "a"], strict=True):
            one.learn_one(dict(enumerate(row)), label)
        assert same(by_array, one)


def test_river_streams_of_arrays_are_learned_alike():
    chance = np.random.default_rng(1)
    rows, labels = chance.normal(size=(200, 4)), chance.integers(0, 3, 200)
    one, many = NaiveBayes(), NaiveBayes()
    for x, y in stream.iter_array(rows, labels):
        one.learn_one(x, y)
    many.learn_many(rows, labels)
    assert same(one, many)
    assert same(load(save(one)), many)
