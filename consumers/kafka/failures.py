"""What goes wrong between a Kafka client and its brokers, put into words, the same for every client.

Law: a message says what happened, to whom and where, and what to do; it never holds a secret.
"""

from consumers.errors import BrokerError
from consumers.kafka.client import NotAllowedError, UnreachableError
from consumers.kafka.security import user
from consumers.kafka.settings import KafkaSettings

RIGHTS = {
    "topic": "READ, WRITE or DESCRIBE, as it is read, written or looked at",
    "group": "READ",
    "transactional id": "WRITE and DESCRIBE",
    "cluster": "what it asked for",
}


def addresses(settings: KafkaSettings) -> str:
    """Return the addresses that were asked, for messages."""
    return ", ".join(settings.brokers)


def unreachable(settings: KafkaSettings, seconds: float, reason: str) -> UnreachableError:
    """Return the error of brokers that have not answered for so many seconds; `reason` is the last word heard."""
    heard = f" ({reason})" if reason else ""
    return UnreachableError(
        f"no broker answered at {addresses(settings)} for {seconds:g} s{heard}: "
        "is it running, and are brokers and security_protocol right?"
    )


def login_refused(settings: KafkaSettings, reason: str) -> NotAllowedError:
    """Return the error of a broker that knows this user not, or not by this password, token or certificate."""
    return NotAllowedError(
        f"{user(settings)} may not log in at {addresses(settings)} by {settings.security_protocol}, "
        f"{settings.sasl_mechanism} ({reason}): check username, password or token, and sasl_mechanism"
    )


def not_allowed(settings: KafkaSettings, kind: str, name: str, doing: str) -> NotAllowedError:
    """Return the error of a missing right on a topic, a group, a transactional id or the cluster."""
    on = f"the {kind} {name}".rstrip()
    return NotAllowedError(
        f"{user(settings)} may not use {on} ({doing}): give that user the right to {RIGHTS[kind]} of {on}"
    )


def unanswered(settings: KafkaSettings, doing: str, reason: str) -> UnreachableError:
    """Return the error of a broker that was asked again and again, and may answer later."""
    return UnreachableError(f"{doing} at {addresses(settings)}: {reason}")


def broker_failed(settings: KafkaSettings, doing: str, reason: str) -> BrokerError:
    """Return the error of a broker that did not do what it was asked."""
    return BrokerError(f"{doing} at {addresses(settings)}: {reason}")
