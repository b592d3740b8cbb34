"""What a model has learned, as plain values: classes, features, moments, the commonest values.

Law: describing changes nothing, and holds only what JSON can hold; weights are as of now.
"""

import math
from typing import Any

import numpy as np

from streamnb.classifier import Classifier
from streamnb.features import alike, values_of
from streamnb.values import FeatureName

RARE = "(rare values)"
"""What stands for the values that share a column."""


def describe(model: Classifier, top: int, feature: FeatureName | None = None) -> dict[str, Any]:
    """Return what a model has learned.

    Parameters
    ----------
    top
        How many values of each feature that is not numeric to tell, the commonest first.
    feature
        The one feature to tell of; all if None.

    Raises ValueError for a feature that was never learned.

    Examples
    --------
    >>> from streamnb import NaiveBayes
    >>> model = NaiveBayes()
    >>> model.learn_one({"size": 2.0, "color": "red"}, "apple")
    >>> described = describe(model, top=5)
    >>> described["numeric"]
    [{'feature': 'size', 'classes': [{'class': 'apple', 'weight': 1.0, 'mean': 2.0, 'variance': 0.0}]}]
    >>> described["categorical"]
    [{'feature': 'color', 'distinct': 1, 'values': [{'value': 'red', 'weights': [1.0]}]}]
    """
    schema, weights = model.schema(), model.feature_weights()
    if feature is not None and feature not in schema:
        raise ValueError(f"the feature {feature!r} was never learned")
    ranked = model.feature_ranking()
    told = {name: kind for name, kind in schema.items() if feature in (None, name)}
    return {
        "classes": [
            {"class": label, "weight": weight, "prior": model.p_class(label)}
            for label, weight in zip(model.classes, model.class_weights, strict=True)
        ],
        "features": [
            {"feature": name, "kind": schema[name], "information": bits, "weight": weights[name]}
            for name, bits in ranked
            if name in told
        ],
        "memories": [
            {"half_life": half_life if math.isfinite(half_life) else None, "share": share}
            for half_life, share in model.memory_shares().items()
        ],
        "alike": [names for names in alike(model.statistics, ranked) if feature is None or feature in names],
        "numeric": [
            {"feature": name, "classes": [_moments(model, name, label) for label in model.classes]}
            for name, kind in told.items()
            if kind == "numeric"
        ],
        "categorical": [
            {"feature": name, **_values(model, name, top)} for name, kind in told.items() if kind != "numeric"
        ],
        "bad_values": [
            {"feature": name, "values": count}
            for name, count in model.bad_values.most_common()
            if feature in (None, name)
        ],
    }


def _moments(model: Classifier, feature: FeatureName, label: Any) -> dict[str, Any]:
    """Return weight, mean and population variance of a feature in a class; None without weight."""
    stats = model.feature_stats(feature, label)
    mean, variance = (stats.mean, stats.var_population) if stats.n else (None, None)
    return {"class": label, "weight": stats.n, "mean": mean, "variance": variance}


def _values(model: Classifier, feature: FeatureName, top: int) -> dict[str, Any]:
    """Return how many values a feature has, and the commonest with their weight in each class."""
    values, weights = values_of(model.statistics, feature)
    distinct = len(values)
    seen = weights.any(axis=1)  # where columns change hands, some have just come by theirs
    values, weights = [values[place] for place in np.flatnonzero(seen)], weights[seen]
    shown = [
        {"value": RARE if value is None else value, "weights": row}
        for value, row in zip(values[:top], weights[:top].tolist(), strict=True)
    ]
    return {"distinct": distinct, "values": shown}
