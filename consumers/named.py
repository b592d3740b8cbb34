"""Settings that name classes: priors, classes known before, what decisions cost.

Law: a label is what its text is as JSON, or else the text itself.
"""

import json

from consumers.config import Config
from consumers.errors import ConfigError
from streamnb.decisions import DecisionRule
from streamnb.labels import Label, as_label


def named_label(text: str) -> Label:
    """Return the label that a text names: what it is as JSON, or else itself."""
    try:
        return as_label(json.loads(text))
    except (ValueError, RecursionError):
        return as_label(text)


def given_priors(config: Config) -> list[tuple[Label, float]]:
    """Return the prior probability of each class that has one; ConfigError for what is none."""
    return [_assigned("priors", text) for text in config.priors]


def decision_rule(config: Config) -> DecisionRule | None:
    """Return the rule that decisions are made by, None where no setting asks for decisions; ConfigError."""
    if not (config.costs or config.thresholds or config.abstain):
        return None
    costs = [_cost(text) for text in config.costs]
    thresholds = [_assigned("thresholds", text) for text in config.thresholds]
    try:
        return DecisionRule(costs, thresholds, config.abstain or None)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _assigned(setting: str, text: str) -> tuple[Label, float]:
    label, sign, share = text.rpartition("=")
    try:
        if sign:
            return named_label(label), float(share)
    except ValueError:
        pass
    raise ConfigError(f"{setting} has {text!r}: each is LABEL=PROBABILITY")


def _cost(text: str) -> tuple[tuple[Label, Label], float]:
    labels, sign, cost = text.rpartition("=")
    truth, colon, decision = _cut(labels)
    try:
        if sign and colon:
            return (named_label(truth), named_label(decision)), float(cost)
    except ValueError:
        pass
    raise ConfigError(f"costs has {text!r}: each is TRUTH:DECISION=COST, a label that holds a colon being in quotes")


def _cut(labels: str) -> tuple[str, str, str]:
    """Cut two labels at the colon between them: the first, or where a text in quotes begins, that after its end."""
    end = 0
    if labels.startswith('"'):
        try:
            _, end = json.JSONDecoder().raw_decode(labels)
        except ValueError:
            end = 0
    head, colon, rest = labels[end:].partition(":")
    return labels[:end] + head, colon, rest
