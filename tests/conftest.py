"""One profile for hypothesis: the same examples on every run, and no clock; and a Kafka to test against."""

from hypothesis import settings

from tests.broker.fixtures import broker, kafka, kafka_jars, make_broker, secure_broker

__all__ = ["broker", "kafka", "kafka_jars", "make_broker", "secure_broker"]

settings.register_profile("ci", derandomize=True, database=None, deadline=None, max_examples=100)
settings.load_profile("ci")
