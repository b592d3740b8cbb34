"""A real Apache Kafka to test against: brokers of our own, the one that is there already, and topics in either."""

from tests.broker.secure import SecureBroker
from tests.broker.server import Broker, BrokerError
from tests.broker.topics import Message, Received, make_topic, read_all, until_marked, write_all
from tests.broker.waiting import until

__all__ = [
    "Broker",
    "BrokerError",
    "Message",
    "Received",
    "SecureBroker",
    "make_topic",
    "read_all",
    "until",
    "until_marked",
    "write_all",
]
