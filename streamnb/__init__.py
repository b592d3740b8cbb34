"""streamnb: an online naive Bayes classifier for streams of events."""

from streamnb.adaptive_bayes import AdaptiveBayes
from streamnb.measure import Measures
from streamnb.naive_bayes import NaiveBayes
from streamnb.snapshot import SnapshotError, load, save

__all__ = ["AdaptiveBayes", "Measures", "NaiveBayes", "SnapshotError", "load", "save"]
