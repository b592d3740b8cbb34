"""Kafka: events in, predictions out, state kept in a topic; exactly once, shared out by partitions.

Law: predictions, dead letters, state and the offsets read go in one transaction, or none of them does.
"""
