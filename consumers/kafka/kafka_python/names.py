"""All that is used of kafka-python: the one file that imports it.

Law: what the library calls otherwise one day, or keeps elsewhere, is mended here.
"""

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition, errors
from kafka.admin import ConfigResource
from kafka.consumer.fetcher import ConsumerRecord
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.future import Future
from kafka.net.compat import KafkaNetClient
from kafka.net.inet import KafkaNetSocket
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.consumer import OffsetSpec
from kafka.structs import MemberState, OffsetAndMetadata

__all__ = [
    "AbstractTokenProvider",
    "ConfigResource",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "CooperativeStickyAssignor",
    "Future",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaNetClient",
    "KafkaNetSocket",
    "KafkaProducer",
    "MemberState",
    "OffsetAndMetadata",
    "OffsetSpec",
    "RangePartitionAssignor",
    "TopicPartition",
    "errors",
]
