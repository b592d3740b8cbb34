"""What a model has learned, as plain values: classes, features, moments, the commonest values.

Law: describing changes nothing, and holds only what JSON can hold.
"""

from typing import Any

import numpy as np

from streamnb.naive_bayes import NaiveBayes


def describe(model: NaiveBayes, top: int) -> dict[str, Any]:
    """Return what a model has learned.

    Parameters
    ----------
    top
        How many values of each categorical feature to tell, the commonest first.

    Examples
    --------
    >>> model = NaiveBayes()
    >>> model.learn_one({"size": 2.0, "color": "red"}, "apple")
    >>> described = describe(model, top=5)
    >>> described["numeric"]
    [{'feature': 'size', 'classes': [{'class': 'apple', 'weight': 1.0, 'mean': 2.0, 'variance': 0.0}]}]
    >>> described["categorical"]
    [{'feature': 'color', 'distinct': 1, 'values': [{'value': 'red', 'weights': [1.0]}]}]
    """
    plain, arrays = model.to_state()
    schema = model.schema()
    classes = model.classes
    names = {
        kind: [name for name, its in schema.items() if (its == "numeric") == (kind == "numeric")]
        for kind in ("numeric", "categorical")
    }
    return {
        "classes": [
            {"class": label, "weight": weight, "prior": model.p_class(label)}
            for label, weight in zip(classes, model.class_weights, strict=True)
        ],
        "numeric": [
            {
                "feature": name,
                "classes": [
                    {"class": label, **_moments(moments[:, slot])} for slot, label in enumerate(classes, start=1)
                ],
            }
            for name, moments in zip(names["numeric"], arrays["moments"], strict=True)
        ],
        "categorical": [
            {"feature": name, "distinct": int(distinct), "values": _values(plain["values"], arrays, feature, top)}
            for feature, (name, distinct) in enumerate(zip(names["categorical"], arrays["distinct"], strict=True))
        ],
        "bad_values": [{"feature": name, "values": count} for name, count in model.bad_values.most_common()],
    }


def _moments(moments: Any) -> dict[str, float | None]:
    """Return weight, mean and population variance of [weight, mean, squared deviations]; None without weight."""
    weight, mean, squares = moments.tolist()
    return {"weight": weight, "mean": mean if weight else None, "variance": squares / weight if weight else None}


def _values(values: list[Any], arrays: Any, feature: int, top: int) -> list[dict[str, Any]]:
    """Return the commonest values of a categorical feature with their weight in each class."""
    columns = np.flatnonzero(arrays["owner"] == feature)
    order = columns[np.argsort(-arrays["counts"][columns, 0], kind="stable")][:top]
    return [{"value": values[column], "weights": arrays["counts"][column, 1:].tolist()} for column in order.tolist()]
