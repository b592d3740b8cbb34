"""streamnb: online naive Bayes classifiers for streams of events."""

from streamnb.adaptive_bayes import AdaptiveBayes
from streamnb.decision_measure import DecisionMeasures
from streamnb.decisions import DecisionRule
from streamnb.measure import Measures
from streamnb.naive_bayes import NaiveBayes
from streamnb.snapshot import SnapshotError, load, save

__all__ = [
    "AdaptiveBayes",
    "DecisionMeasures",
    "DecisionRule",
    "Measures",
    "NaiveBayes",
    "SnapshotError",
    "load",
    "save",
]
