"""The settings, frozen: every one with its default and its meaning.

Law: what a learned state depends on is told apart from what may change between two runs.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from consumers.kafka.settings import KafkaSettings

Names = tuple[str, ...]
Numbers = tuple[float, ...]
Kind = Literal["numeric", "categorical", "bag", "text"]  # as in streamnb.values, which help need not wait for


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. A flag is the name with dashes; a key of the TOML file is the name as it stands."""

    inputs: Annotated[
        Names,
        Meta(min_length=1, description="Files to read, in order (.gz and .zst are unpacked); - is standard input."),
    ] = ("-",)
    format: Annotated[
        Literal["auto", "jsonl", "csv"],
        Meta(description="How to read the inputs: jsonl, csv, or auto to go by their names (.csv is CSV)."),
    ] = "auto"
    label: Annotated[str, Meta(min_length=1, description="The key of the label; dots lead into nested objects.")] = (
        "label"
    )
    id: Annotated[str, Meta(min_length=1, description="The key of the id that goes with the prediction.")] = "id"
    weight: Annotated[str, Meta(description="The key of the weight of an event; without one, each weighs 1.")] = ""
    time: Annotated[
        str,
        Meta(
            description="The key of the time of an event, in seconds or ISO 8601; without it, half-lives count events."
        ),
    ] = ""
    ignore: Annotated[Names, Meta(description="Keys to leave out; dots lead into nested objects.")] = ()
    numeric: Annotated[Names, Meta(description="Features declared numeric; text may stand for their numbers.")] = ()
    categorical: Annotated[
        Names, Meta(description="Features declared categorical, such as codes that look like numbers.")
    ] = ()
    bag: Annotated[Names, Meta(description="Features declared bags: lists of strings, or objects of counts.")] = ()
    text: Annotated[Names, Meta(description="Features declared text, which is cut into tokens.")] = ()
    output: Annotated[str, Meta(min_length=1, description="Where predictions go; - is standard output.")] = (
        "predictions.jsonl"
    )
    dead_letters: Annotated[str, Meta(min_length=1, description="Where records go that could not be used.")] = (
        "dead-letters.jsonl"
    )
    max_record_bytes: Annotated[
        int, Meta(ge=1, le=2**40, description="A record larger than this is a dead letter.")
    ] = 1 << 20
    snapshots: Annotated[str, Meta(min_length=1, description="The folder of the snapshots.")] = "snapshots"
    keep_snapshots: Annotated[int, Meta(ge=1, description="How many snapshots to keep.")] = 3
    snapshot_records: Annotated[int, Meta(ge=1, description="A snapshot is due after so many records.")] = 100_000
    snapshot_seconds: Annotated[
        float, Meta(gt=0, le=1e9, description="A snapshot is due after so many seconds in which records came.")
    ] = 60.0
    model: Annotated[
        Literal["adaptive", "naive"],
        Meta(description="What learns: naive Bayes in several memories with learned weights, or plain naive Bayes."),
    ] = "adaptive"
    half_lives: Annotated[
        Numbers,
        Meta(min_length=1, description="The memories of the adaptive model, as half_life is of the other; 0 is never."),
    ] = (10.0, 100.0, 1000.0, 0.0)
    rate: Annotated[
        float, Meta(ge=0, le=1, description="How large a step the weights of the adaptive model take; 0 is none.")
    ] = 0.2
    clip: Annotated[
        float, Meta(gt=0, le=1e12, description="The most, in log odds, that one part of an event says (adaptive).")
    ] = 5.0
    likelihoods: Annotated[
        Names,
        Meta(
            description="What is expected of numbers (adaptive): mixed, gaussian, log-normal, binned or auto, for all "
            "or as FEATURE=LIKELIHOOD; or FEATURE=EDGE,EDGE,... for bins between these."
        ),
    ] = ()
    smoothing: Annotated[float, Meta(ge=0, le=1e12, description="What is added to the count of each category.")] = 1.0
    variance_prior: Annotated[
        float,
        Meta(
            ge=0, le=1e12, description="Observations that a feature's pooled variance counts for in that of each class."
        ),
    ] = 5.0
    unbiased: Annotated[bool, Meta(description="Whether variances divide by n - 1 instead of n.")] = False
    prior_smoothing: Annotated[
        float, Meta(ge=0, le=1e12, description="What is added to the number of events of each class in its prior.")
    ] = 0.0

    bags: Annotated[
        Literal["multinomial", "complement", "bernoulli"],
        Meta(description="What tokens say: how often they come, how unlike the other classes, or whether they come."),
    ] = "multinomial"
    tokenizer: Annotated[
        str, Meta(description="A regular expression for the tokens of text; without one, words and marks.")
    ] = ""
    prior: Annotated[
        Literal["observed", "uniform"], Meta(description="What classes are expected to be: as observed, or all alike.")
    ] = "observed"
    priors: Annotated[
        Names, Meta(description="Given priors, each as LABEL=PROBABILITY; a label is JSON where it can be, else text.")
    ] = ()
    classes: Annotated[
        Names, Meta(description="Classes known before the first event; each is JSON where it can be, else text.")
    ] = ()
    half_life: Annotated[
        float,
        Meta(
            ge=0, le=1e300, description="Events (or with time, seconds) after which an event counts half; 0 is never."
        ),
    ] = 0.0
    max_values: Annotated[
        int, Meta(ge=0, le=2**40, description="Values of a feature that are kept apart; rare ones share. 0 is all.")
    ] = 0
    max_features: Annotated[
        int, Meta(ge=0, le=2**40, description="Features that are learned; later ones are left out. 0 is all.")
    ] = 0
    labels: Annotated[
        Names,
        Meta(
            description="Files of late labels, read after the inputs, or topics: objects with the id of an event, and "
            "its label."
        ),
    ] = ()
    max_waiting: Annotated[
        int, Meta(ge=1, le=2**40, description="How many events may wait for a late label, and labels for their event.")
    ] = 100_000
    tell_unmatched: Annotated[
        bool, Meta(description="Whether events and labels that waited too long for the other join the dead letters.")
    ] = False
    explain: Annotated[int, Meta(ge=0, le=2**20, description="How many reasons each prediction is given.")] = 0
    costs: Annotated[
        Names,
        Meta(
            description="What decisions cost, each as TRUTH:DECISION=COST, labels as in priors; "
            "else a right one costs 0 and a wrong one 1."
        ),
    ] = ()
    thresholds: Annotated[
        Names,
        Meta(description="The probability a class must have to be decided for, each as LABEL=PROBABILITY."),
    ] = ()
    abstain: Annotated[
        float,
        Meta(ge=0, le=1e100, description="What it costs to abstain from a decision that may cost more; 0 is never."),
    ] = 0.0
    drift: Annotated[
        str,
        Meta(description="Where it is told that what was learned holds less well than it did; empty: not looked for."),
    ] = ""

    kafka: Annotated[KafkaSettings, Meta(description="The table of Kafka.")] = KafkaSettings()

    def kinds(self) -> dict[str | int, Kind]:
        """Return the declared kinds by feature."""
        kinds: tuple[Kind, ...] = ("numeric", "categorical", "bag", "text")
        return {feature: kind for kind in kinds for feature in getattr(self, kind)}

    def state_settings(self) -> dict[str, Any]:
        """Return the settings that a learned state depends on: a snapshot fits only the same."""
        return {name: getattr(self, name) for name in STATE_SETTINGS}


FIELD_SETTINGS = ("label", "id", "weight", "time", "ignore")
SCORE_SETTINGS = ("smoothing", "variance_prior", "unbiased", "prior", "priors", "prior_smoothing")
NAIVE_SETTINGS = ("half_life",)
ADAPTIVE_SETTINGS = ("half_lives", "rate", "clip", "likelihoods")
LEARN_SETTINGS = (
    *("model", *ADAPTIVE_SETTINGS),
    *("numeric", "categorical", "bag", "text", "bags", "tokenizer"),
    *("classes", "half_life", "max_values", "max_features"),
)
DECISION_SETTINGS = ("costs", "thresholds", "abstain")
STATE_SETTINGS = (*FIELD_SETTINGS, *SCORE_SETTINGS, *LEARN_SETTINGS)
