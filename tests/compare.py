"""The comparison: test-then-train accuracy and log loss of streamnb and of its peers, as a Markdown table.

    python -m tests.compare                       # on the streams that river ships or makes
    python -m tests.compare --forest --events 20000 Phishing Shuttle
    python -m tests.compare --ablation            # AdaptiveBayes without each of its parts, and with each alone
    python -m tests.compare --data FOLDER         # on the real streams of a folder as well

One pass in the order of the stream, everything at its defaults. The first event, before which no label has come, is not
measured; a later one without an answer counts as one that gave all classes the same.
"""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from river import compose, forest, linear_model, preprocessing, tree

from streamnb import AdaptiveBayes, Measures, NaiveBayes
from streamnb.classifier import Classifier
from tests import open_streams, streams

REAL = ("elec", "weather", "adult", "titanic", "covtype10k", "airlines5", "mushroom", "sea_stream")
BATCH = 1_000

PARTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "the variance prior": ({"variance_prior": 5.0}, {"variance_prior": 0.0}),
    "learned weights and effects": ({"rate": 0.2}, {"rate": 0.0}),
    "several memories": ({"half_lives": (10.0, 100.0, 1000.0, math.inf)}, {"half_lives": (math.inf,)}),
    "bins": ({"likelihoods": "mixed"}, {"likelihoods": "gaussian"}),
}
"""The parts of `AdaptiveBayes`: the settings with which each is there, and those with which it is not."""


class Stream(NamedTuple):
    """Events without what is missing, the label of each as a number from 0 on, and how many classes there are."""

    name: str
    events: list[dict[Any, Any]]
    labels: list[int]
    classes: int


def load(name: str, folder: Path | None, most: int | None) -> Stream:
    """Return a stream, or its first so many events."""
    source = open_streams.STREAMS[name]() if name in open_streams.STREAMS else streams.read(name, folder)
    events, labels = zip(*islice(source, most), strict=True)
    classes = {label: code for code, label in enumerate(sorted(set(labels)))}
    known = [{key: value for key, value in event.items() if value is not None} for event in events]
    return Stream(name, known, [classes[label] for label in labels], len(classes))


def logistic_regression(classes: int) -> Any:
    """Return river's logistic regression, with scaled numbers and a number for each value of a category."""
    numbers = compose.SelectType(int, float) | preprocessing.StandardScaler()
    # The zeros of absent values change no answer, and take most of the time.
    categories = compose.SelectType(str) | preprocessing.OneHotEncoder(drop_zeros=True)
    regression = linear_model.LogisticRegression if classes == 2 else linear_model.SoftmaxRegression
    return (numbers + categories) | regression()


MODELS: Mapping[str, Callable[[int], Any]] = {
    "NaiveBayes": lambda _: NaiveBayes(),
    "AdaptiveBayes": lambda _: AdaptiveBayes(),
    "logistic regression": logistic_regression,
    "Hoeffding tree": lambda _: tree.HoeffdingTreeClassifier(),
}
"""How to make each of the models, given the number of classes."""

FOREST = {"ARF, 10 trees": lambda _: forest.ARFClassifier(n_models=10, seed=42)}


def answers(model: Any, stream: Stream) -> np.ndarray:
    """Return probabilities [event, class], each event answered before it is learned."""
    rows = np.zeros((len(stream.events), stream.classes))
    if isinstance(model, Classifier):
        for start in range(0, len(rows), BATCH):
            part = slice(start, start + BATCH)
            given = model.test_then_train(stream.events[part], stream.labels[part])
            rows[part, model.classes] = given
        return rows
    for row, event, label in zip(rows, stream.events, stream.labels, strict=True):
        for code, probability in model.predict_proba_one(event).items():
            row[int(code)] = probability
        model.learn_one(event, label)
    return rows


def measured(model: Any, stream: Stream) -> Measures:
    """Return how well a model does on a stream."""
    rows = answers(model, stream)
    rows[1:][~rows[1:].any(axis=1)] = 1.0 / stream.classes
    rows[0] = 0.0
    measures = Measures()
    measures.update(rows, range(stream.classes), stream.labels)
    return measures


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def cell(accuracy: float, log_loss: float) -> str:
    """Return accuracy, in percent, and log loss."""
    return f"{100 * accuracy:.1f} / {log_loss:.3f}"


def compare(loads: Sequence[Callable[[], Stream]], models: Mapping[str, Callable[[int], Any]]) -> None:
    """Print a table with a stream a row and a model a column."""
    print(row(["stream", "events", *models, "no change", "Kappa-Temporal of AdaptiveBayes"]))
    print(row(["---", *["---:"] * (len(models) + 3)]))
    for load_stream in loads:
        stream = load_stream()
        found = {name: measured(make(stream.classes), stream) for name, make in models.items()}
        adaptive = found["AdaptiveBayes"]
        cells = [cell(measures.accuracy, measures.log_loss) for measures in found.values()]
        repeated = f"{100 * adaptive.no_change_accuracy:.1f}", f"{adaptive.kappa_temporal:.2f}"
        print(row([stream.name, f"{len(stream.events):,}", *cells, *repeated]), flush=True)


def variants() -> dict[str, dict[str, Any]]:
    """Return the settings of `AdaptiveBayes` with all of its parts, without each, with each alone, and with none."""
    every: dict[str, Any] = {}
    none: dict[str, Any] = {}
    for there, gone in PARTS.values():
        every |= there
        none |= gone
    without = {f"without {name}": every | gone for name, (_, gone) in PARTS.items()}
    alone = {f"{name} alone": none | there for name, (there, _) in PARTS.items()}
    return {"all parts": every, **without, **alone, "none of them": none}


def ablate(loads: Sequence[Callable[[], Stream]]) -> None:
    """Print a table with a variant of `AdaptiveBayes` a row and a stream a column."""
    table: dict[str, list[tuple[float, float]]] = {name: [] for name in variants()}
    names = []
    for load_stream in loads:
        stream = load_stream()
        names.append(stream.name)
        for name, settings in variants().items():
            measures = measured(AdaptiveBayes(**settings), stream)
            table[name].append((measures.accuracy, measures.log_loss))
    print(row(["AdaptiveBayes", *names, "mean"]))
    print(row(["---", *["---:"] * (len(names) + 1)]))
    for name, figures in table.items():
        mean = tuple(np.mean(figures, axis=0).tolist())
        print(row([name, *[cell(*pair) for pair in [*figures, mean]]]))


def main() -> None:
    """Compare, or ablate, on the streams that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help=f"the folder of the real streams; {streams.FOLDER} if it is there")
    parser.add_argument("--events", type=int, help="at the most so many events of each stream, the first")
    parser.add_argument("--forest", action="store_true", help="river's ARF as well, which takes 1 ms an event and more")
    parser.add_argument("--ablation", action="store_true", help="AdaptiveBayes without each of its parts")
    parser.add_argument("streams", nargs="*", help="their names; all that there are if none is given")
    arguments = parser.parse_args()
    folder = arguments.data or streams.FOLDER
    if arguments.data and not folder.is_dir():
        parser.error(f"{folder} is no folder: give --data the folder that holds datasets.json")
    known = [*open_streams.STREAMS, *(REAL if folder.is_dir() else ())]
    unknown = [name for name in arguments.streams if name not in known]
    if unknown:
        parser.error(f"there is no stream {unknown[0]!r}: it is one of {', '.join(known)}")
    loads = [partial(load, name, folder, arguments.events) for name in arguments.streams or known]
    if arguments.ablation:
        ablate(loads)
    else:
        compare(loads, {**MODELS, **(FOREST if arguments.forest else {})})


if __name__ == "__main__":
    main()
