"""The model that the settings ask for.

Law: a setting that the model does not have is said to be none of its own, not passed over.
"""

import math
from collections.abc import Collection, Mapping
from typing import Any

from consumers.config import ADAPTIVE_SETTINGS, NAIVE_SETTINGS, Config
from consumers.errors import ConfigError
from consumers.named import given_priors, named_label
from streamnb.adaptive_bayes import AdaptiveBayes
from streamnb.classifier import Classifier
from streamnb.likelihoods import LIKELIHOODS, Likelihood
from streamnb.naive_bayes import NaiveBayes
from streamnb.tokenizer import TOKENS

_SOURCES = {"prior": {"priors"}}  # further settings that make up one of the model


def new_model(config: Config) -> Classifier:
    """Return a model that has learned nothing; ConfigError for what cannot be."""
    _check_own(config)
    common: dict[str, Any] = {
        **scoring(config),
        "known_classes": [named_label(text) for text in config.classes] or None,
        "kinds": config.kinds(),
        "bags": config.bags,
        "tokenizer": config.tokenizer or TOKENS,
        "max_values": config.max_values or None,
        "max_features": config.max_features or None,
    }
    try:
        if config.model == "naive":
            return NaiveBayes(**common, half_life=config.half_life or None)
        return AdaptiveBayes(
            **common,
            half_lives=tuple(half_life or math.inf for half_life in config.half_lives),
            rate=config.rate,
            clip=config.clip,
            likelihoods=_likelihoods(config),
        )
    except ValueError as error:
        raise ConfigError(str(error)) from error


def scoring(config: Config) -> dict[str, Any]:
    """Return the settings that scoring alone depends on, as a model takes them."""
    names = ("smoothing", "variance_prior", "unbiased", "prior", "prior_smoothing")
    settings = {name: getattr(config, name) for name in names}
    if not config.priors:
        return settings
    if config.prior != "observed":
        raise ConfigError(f"prior is {config.prior!r}, and priors are given: give only one of them")
    return {**settings, "prior": given_priors(config)}


def given_scoring(config: Config, given: Collection[str]) -> dict[str, Any]:
    """Return, of the settings that scoring alone depends on, those that were given."""
    changes = scoring(config)
    return {name: changes[name] for name in changes if not {name, *_SOURCES.get(name, ())}.isdisjoint(given)}


def check_same(config: Config, recorded: Mapping[str, Any], *, what: str, other: str) -> None:
    """Raise ConfigError where a state was made under other settings.

    Parameters
    ----------
    what
        What holds the state, for the message.
    other
        What to give another of, to begin anew.
    """
    defaults = {**Config().state_settings(), "model": "naive"}  # the only one that there was before it was a setting
    for name, value in config.state_settings().items():
        was = recorded.get(name, defaults[name])
        was = list(was) if isinstance(was, tuple) else was
        now = list(value) if isinstance(value, tuple) else value
        if was != now:
            raise ConfigError(
                f"{name} is {now!r}, and {what} were made with {was!r}: give the same, or another {other}"
            )


def configure(model: Classifier, changes: Mapping[str, Any]) -> None:
    """Change how a model scores; ConfigError for what cannot be."""
    try:
        model.configure(**changes)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _check_own(config: Config) -> None:
    """Raise ConfigError for a setting of the other model."""
    defaults = Config()
    for name in ADAPTIVE_SETTINGS if config.model == "naive" else NAIVE_SETTINGS:
        value = getattr(config, name)
        if value != getattr(defaults, name):
            other = "adaptive" if config.model == "naive" else "naive"
            raise ConfigError(f"{name} is {value!r}, but only the {other} model has it, and model is {config.model!r}")


def _likelihoods(config: Config) -> Likelihood | dict[str | int, Likelihood]:
    """Return one likelihood for all features, or one by feature."""
    if not config.likelihoods:
        return "mixed"
    if len(config.likelihoods) == 1 and config.likelihoods[0] in LIKELIHOODS:
        return config.likelihoods[0]  # type: ignore[return-value] # it is one of them
    found: dict[str | int, Likelihood] = {}
    for text in config.likelihoods:
        feature, sign, likelihood = text.rpartition("=")
        if not sign:
            raise ConfigError(
                f"likelihoods has {text!r}: it is one of {', '.join(LIKELIHOODS)} for all features, or each is "
                "FEATURE=LIKELIHOOD or FEATURE=EDGE,EDGE,..."
            )
        if feature in found:
            raise ConfigError(f"likelihoods has {text!r}: the likelihood of {feature!r} is given twice")
        kind = config.kinds().get(feature, "numeric")
        if kind != "numeric":
            raise ConfigError(f"likelihoods has {text!r}, but {feature!r} is declared {kind}: only numbers have one")
        found[feature] = likelihood if likelihood in LIKELIHOODS else _edges(text, likelihood)  # type: ignore[assignment]
    return found


def _edges(text: str, edges: str) -> list[float]:
    try:
        return [float(edge) for edge in edges.split(",")]
    except ValueError as error:
        raise ConfigError(
            f"likelihoods has {text!r}: {edges!r} is none of {', '.join(LIKELIHOODS)}, and no edges of bins"
        ) from error
