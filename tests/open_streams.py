"""Streams that anyone can have: those that river ships, and drifting ones that it makes.

Law: a stream is the same events, in the same order, whenever it is made; what is a code and no amount is text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from river import datasets
from river.datasets import synth

Labelled = tuple[Mapping[Any, Any], Any]


def _with_text(events: Iterable[Labelled], names: Iterable[Any]) -> Iterator[Labelled]:
    """Yield the events of a stream with the values of some names as text."""
    coded = set(names)
    for event, label in events:
        yield {name: str(value) if name in coded else value for name, value in event.items()}, label


def agrawal(size: int = 25_000) -> Iterator[Labelled]:
    """Yield who gets a loan by four rules in turn, each for so many events; people's numbers are a little off."""
    for rule, seed in enumerate(range(42, 46)):
        made = synth.Agrawal(classification_function=rule, seed=seed, perturbation=0.05)
        yield from _with_text(islice(made, size), ("elevel", "car", "zipcode"))


def sea(size: int = 25_000) -> Iterator[Labelled]:
    """Yield whether two numbers of three exceed a bound, which changes three times; one label in ten is wrong."""
    for variant, seed in zip((0, 3, 1, 2), range(42, 46), strict=True):
        yield from islice(synth.SEA(variant=variant, seed=seed, noise=0.1), size)


def led(size: int = 50_000) -> Iterator[Labelled]:
    """Yield digits shown by seven lamps of 24, of which one in ten is wrong; half-way the lamps change places."""
    settings = {"seed": 42, "noise_percentage": 0.1, "irrelevant_features": True}
    parts = synth.LED(**settings), synth.LEDDrift(**settings, n_drift_features=7)
    yield from _with_text(chain.from_iterable(islice(part, size) for part in parts), range(24))


STREAMS: Mapping[str, Callable[[], Iterable[Labelled]]] = {
    "Phishing": datasets.Phishing,
    "Bananas": datasets.Bananas,
    "ImageSegments": datasets.ImageSegments,
    "Shuttle": datasets.Shuttle,
    "Agrawal": agrawal,
    "SEA": sea,
    "LED": led,
}
"""Each stream by its name, the shipped ones first."""
