"""The settings of a model, checked.

Law: a setting that cannot be is named, with what it may be, before anything is learned.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, Self

import numpy as np

from streamnb.arrays import BERNOULLI, COMPLEMENT, GIVEN_PRIOR, MULTINOMIAL, OBSERVED_PRIOR, UNIFORM_PRIOR, Floats
from streamnb.labels import Label, Labels, as_label
from streamnb.likelihoods import Likelihood, Likelihoods
from streamnb.tokenizer import TOKENS, Tokenizer, Tokens
from streamnb.values import KINDS, FeatureName, Kind

Prior = Literal["observed", "uniform"] | Mapping[Label, float] | Sequence[tuple[Label, float]]
Bags = Literal["multinomial", "complement", "bernoulli"]

PRIORS: Final = {"observed": OBSERVED_PRIOR, "uniform": UNIFORM_PRIOR}
BAGS: Final = {"multinomial": MULTINOMIAL, "complement": COMPLEMENT, "bernoulli": BERNOULLI}

MOST = 1e12
"""The largest setting: beyond it, or with a smoothing below its inverse, kernels would leave their bounds."""

_SCORING = ("smoothing", "variance_prior", "unbiased", "prior", "prior_smoothing", "bags")  # what learning does not see


class MissingTokenizerError(Exception):
    """A model whose tokenizer is a function, without that function."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a model; see `NaiveBayes` for what they mean.

    Raises ValueError for one that cannot be.
    """

    smoothing: float
    variance_prior: float
    unbiased: bool
    prior: Prior
    prior_smoothing: float
    known_classes: Sequence[Label] | None
    kinds: Mapping[FeatureName, Kind] | None
    bags: Bags
    tokenizer: Tokenizer
    half_life: float | None
    max_values: int | None
    max_features: int | None

    def __post_init__(self) -> None:
        self._check_numbers()
        for feature, kind in (self.kinds or {}).items():
            if kind not in KINDS:
                raise ValueError(f"the kind of {feature!r} is {kind!r}: it must be one of {', '.join(KINDS)}")
        if self.bags not in BAGS:
            raise ValueError(f"bags is {self.bags!r}: it must be one of {', '.join(BAGS)}")
        if self.bags == "complement" and self.smoothing == 0:
            raise ValueError("smoothing is 0: with complement bags it must be above, or a new token would decide alone")
        Tokens(self.tokenizer)  # raises for what cannot be one, as does the next
        _ = self.known
        if isinstance(self.prior, str) and self.prior not in PRIORS:
            raise ValueError(f"prior is {self.prior!r}: it must be observed, uniform, or a probability for each class")
        _check_given(self.given)

    def _check_numbers(self) -> None:
        for name in ("smoothing", "variance_prior", "prior_smoothing"):
            if not 0 <= getattr(self, name) <= MOST:
                raise ValueError(f"{name} is {getattr(self, name)!r}: it must be a number from 0 to {MOST}")
        if 0 < self.smoothing < 1 / MOST:
            raise ValueError(f"smoothing is {self.smoothing!r}: it must be 0 or at least {1 / MOST}")
        if self.half_life is not None and not self.half_life >= 1 / MOST:
            raise ValueError(f"half_life is {self.half_life!r}: it must be a number from {1 / MOST} on, or None")
        for name in ("max_values", "max_features"):
            bound = getattr(self, name)
            if bound is not None and not (isinstance(bound, int | np.integer) and bound >= 1):
                raise ValueError(f"{name} is {bound!r}: it must be a whole number from 1 on, or None")

    @property
    def known(self) -> list[Label]:
        """The classes that are there before an event of theirs."""
        return [as_label(label) for label in self.known_classes or ()]

    @property
    def given(self) -> list[tuple[Label, float]]:
        """The prior probabilities that the user gave."""
        if isinstance(self.prior, str):
            return []
        pairs: Iterable[tuple[Label, float]] = self.prior.items() if isinstance(self.prior, Mapping) else self.prior
        return [(as_label(label), float(share)) for label, share in pairs]

    @property
    def decays(self) -> bool:
        """Whether old events fade."""
        return self.half_life is not None and math.isfinite(self.half_life)

    @property
    def shortest(self) -> float:
        """The half-life that is over first, infinite where nothing fades."""
        return self.half_life if self.half_life is not None else math.inf

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return these settings with some changed; ValueError for one that what was learned depends on."""
        for name, value in changes.items():
            if name not in _SCORING:
                raise ValueError(f"{name} cannot be changed later; what can is {', '.join(_SCORING)}")
            if name == "bags" and value != self.bags and "bernoulli" in (value, self.bags):
                raise ValueError(f"bags cannot be changed from {self.bags} to {value}: they count differently")
        return replace(self, **changes)

    def difference(self, other: Self) -> str | None:
        """Return in words what other settings are not equal in; None for equal ones."""
        for (name, ours), theirs in zip(self._compared().items(), other._compared().values(), strict=True):
            if repr(ours) != repr(theirs):  # which 1 and True differ in
                return f"{name} is {ours!r} in one and {theirs!r} in another"
        return None

    def _compared(self) -> dict[str, Any]:
        """Return what two models have to have in common, each in one way of writing it."""
        state = self.to_state()
        return {**state, "kinds": state["kinds"] or None, "tokenizer": self.tokenizer}

    def to_state(self) -> dict[str, Any]:
        """Return the settings as plain values; a tokenizer that is a function is not among them."""
        kinds = (
            None if self.kinds is None else sorted(((name, str(kind)) for name, kind in self.kinds.items()), key=repr)
        )
        return {
            "smoothing": float(self.smoothing),
            "variance_prior": float(self.variance_prior),
            "unbiased": bool(self.unbiased),
            "prior": self.prior if isinstance(self.prior, str) else self.given,
            "prior_smoothing": float(self.prior_smoothing),
            "known_classes": None if self.known_classes is None else self.known,
            "kinds": kinds,
            "bags": self.bags,
            "tokenizer": self.tokenizer if isinstance(self.tokenizer, str) else None,
            "half_life": self.half_life if self.decays else None,
            "max_values": None if self.max_values is None else int(self.max_values),
            "max_features": None if self.max_features is None else int(self.max_features),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], tokenizer: Tokenizer | None) -> dict[str, Any]:
        """Return the settings whose `to_state` this is, by name, as the model takes them.

        Raises MissingTokenizerError if the tokenizer is a function, and none is given.
        """
        known = {field.name: state[field.name] for field in fields(cls) if field.name in state}
        known["kinds"] = None if known["kinds"] is None else dict(known["kinds"])
        if not isinstance(known.get("prior", ""), str):
            known["prior"] = [(label, share) for label, share in known["prior"]]
        if tokenizer is not None:
            known["tokenizer"] = tokenizer
        if known.get("tokenizer", TOKENS) is None:
            raise MissingTokenizerError(
                "its text is cut by a function, which is not saved: give it to load as tokenizer"
            )
        return known

    def as_array(self) -> Floats:
        """Return what scoring needs, in the places that arrays.py names; the unit is 1."""
        prior = PRIORS[self.prior] if isinstance(self.prior, str) else GIVEN_PRIOR
        known = len(Labels(self.known))
        places = (self.smoothing, self.variance_prior, self.unbiased, self.prior_smoothing, prior, known)
        return np.array((*places, BAGS[self.bags], 1.0), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class AdaptiveSettings(Settings):
    """The settings of an `AdaptiveBayes`, checked. Its half-life is that of no single memory: None.

    Raises ValueError for one that cannot be.
    """

    half_life: None = None
    half_lives: Sequence[float]
    rate: float
    clip: float
    likelihoods: Likelihood | Mapping[FeatureName, Likelihood]

    def __post_init__(self) -> None:
        super().__post_init__()
        lives = self.half_lives
        if not (isinstance(lives, Sequence | np.ndarray) and len(lives) and all(map(_is_half_life, lives))):
            raise ValueError(f"half_lives is {lives!r:.80}: it must be one or more numbers from {1 / MOST} on")
        if len(set(lives)) < len(lives):
            raise ValueError(f"half_lives is {lives!r:.80}: one is in it twice")
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate is {self.rate!r}: it must be a number from 0 to 1")
        if not 0 < self.clip <= MOST:
            raise ValueError(f"clip is {self.clip!r}: it must be a number above 0, {MOST} at the most")
        Likelihoods(self.likelihoods)

    @property
    def decays(self) -> bool:
        """Whether old events fade from some memory."""
        return math.isfinite(self.shortest)

    @property
    def shortest(self) -> float:
        """The half-life that is over first, infinite where nothing fades."""
        return min(self.half_lives)

    def to_state(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        lives = [float(life) if math.isfinite(life) else None for life in sorted(self.half_lives)]
        own = {"model": "adaptive", "half_lives": lives, "rate": float(self.rate), "clip": float(self.clip)}
        return {**super().to_state(), **own, "likelihoods": Likelihoods(self.likelihoods).to_state()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], tokenizer: Tokenizer | None) -> dict[str, Any]:
        """Return the settings whose `to_state` this is, by name, as `AdaptiveBayes` takes them."""
        known = super().from_state(state, tokenizer)
        del known["half_life"]
        known["half_lives"] = tuple(math.inf if life is None else life for life in known["half_lives"])
        known["likelihoods"] = Likelihoods.from_state(known["likelihoods"])
        return known

    def as_array(self) -> Floats:
        """Return what scoring needs, in the places that arrays.py names."""
        return np.concatenate((super().as_array(), (self.rate, self.clip)))


def _is_half_life(life: object) -> bool:
    return isinstance(life, int | float | np.number) and bool(life >= 1 / MOST)


def _check_given(given: Sequence[tuple[Label, float]]) -> None:
    met = Labels()
    for label, share in given:
        if not 0 <= share <= 1:
            raise ValueError(f"the prior of {label!r} is {share!r}: it must be a probability, from 0 to 1")
        if met.find(label) is not None:
            raise ValueError(f"the prior of {label!r} is given twice")
        met.add(label)
    total = math.fsum(share for _, share in given)
    if given and abs(total - 1) > 1e-9:
        raise ValueError(f"the priors sum to {total!r}: they must sum to 1")
