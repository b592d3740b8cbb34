"""streamnb: an online naive Bayes classifier for streams of events."""

from streamnb.measure import Measures
from streamnb.naive_bayes import NaiveBayes
from streamnb.snapshot import load, save

__all__ = ["Measures", "NaiveBayes", "load", "save"]
