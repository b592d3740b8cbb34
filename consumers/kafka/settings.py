"""The settings of Kafka, the table [kafka] of a config: brokers, topics, names, security.

Law: no secret is shown, in a message, a log or a listing; a setting that is one says so of itself.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Names = tuple[str, ...]

SECRET = {"secret": True}


class KafkaSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of Kafka. Topics may be named by kafka:// addresses as well, which go before these."""

    brokers: Annotated[Names, Meta(description="Kafka brokers to ask first, each as HOST:PORT.")] = ()
    events: Annotated[Names, Meta(description="Topics of events, with labels or without.")] = ()
    labels: Annotated[
        Names, Meta(description="Topics of late labels: objects with the id of an event, and its label.")
    ] = ()
    predictions: Annotated[str, Meta(description="The topic of predictions; empty: APPLICATION-predictions.")] = ""
    dead_letters: Annotated[str, Meta(description="The topic of dead letters; empty: APPLICATION-dead-letters.")] = ""
    state: Annotated[str, Meta(description="The compacted topic of states; empty: APPLICATION-state.")] = ""
    drift: Annotated[str, Meta(description="The topic of drifts; empty: not looked for.")] = ""
    application: Annotated[
        str,
        Meta(
            pattern=r"^[a-zA-Z0-9._-]{1,100}$",
            description="The name that workers which share a model share: their consumer group.",
        ),
    ] = "streamnb"
    group: Annotated[
        str,
        Meta(
            pattern=r"^[a-zA-Z0-9._-]{0,100}$",
            description="The consumer group; empty: APPLICATION, and for predict APPLICATION-predict.",
        ),
    ] = ""
    worker: Annotated[
        str,
        Meta(
            pattern=r"^[a-zA-Z0-9._-]{0,100}$",
            description="The name of this worker, its own in the application; with one, a restart needs no rebalance.",
        ),
    ] = ""
    client: Annotated[
        Literal["kafka-python", "confluent"],
        Meta(description="The Kafka client; confluent is faster and needs the extra named fast."),
    ] = "kafka-python"
    assignor: Annotated[
        Literal["auto", "cooperative-sticky", "range"],
        Meta(description="How partitions are shared out; auto is cooperative-sticky for one topic, range for several."),
    ] = "auto"
    start: Annotated[
        Literal["earliest", "latest"], Meta(description="Where a partition is read from that was never read.")
    ] = "earliest"
    until: Annotated[
        Literal["forever", "end"],
        Meta(description="Whether to go on for ever, or stop at the end there is at the start."),
    ] = "forever"
    on_gap: Annotated[
        Literal["stop", "go-on"],
        Meta(description="What to do where events to be read are no longer retained: stop, or go on without them."),
    ] = "stop"
    headers: Annotated[bool, Meta(description="Whether the headers of an event go with its prediction.")] = False
    commit_seconds: Annotated[
        float, Meta(ge=0.001, le=10.0, description="How long events are gathered for one transaction, at most.")
    ] = 0.1
    commit_records: Annotated[
        int, Meta(ge=1, le=1_000_000, description="How many events one transaction holds, at most.")
    ] = 5_000
    session_seconds: Annotated[
        float, Meta(ge=0.5, le=900, description="After how long a silent worker is taken for dead.")
    ] = 15.0
    transaction_seconds: Annotated[
        float, Meta(ge=1, le=900, description="After how long the broker gives up a transaction left open.")
    ] = 60.0
    connect_seconds: Annotated[
        float, Meta(ge=0, le=86_400, description="How long to try to reach a broker at the start.")
    ] = 30.0
    max_message_bytes: Annotated[
        int, Meta(ge=1024, le=2**30, description="The largest message that the topics take; states are cut to it.")
    ] = 1_000_000
    security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], Meta(description="How to speak to the brokers.")
    ] = "PLAINTEXT"
    sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"], Meta(description="How to log in.")
    ] = "SCRAM-SHA-512"
    username: Annotated[str, Meta(description="The name to log in with (PLAIN, SCRAM).")] = ""
    password: Annotated[str, Meta(description="The password to log in with (PLAIN, SCRAM).", extra=SECRET)] = ""
    token: Annotated[str, Meta(description="The token to log in with (OAUTHBEARER).", extra=SECRET)] = ""
    token_file: Annotated[
        str, Meta(description="A file that holds the token, read anew whenever one is needed (OAUTHBEARER).")
    ] = ""
    ssl_ca: Annotated[str, Meta(description="A PEM file of the authorities to trust; empty: the system's.")] = ""
    ssl_certificate: Annotated[str, Meta(description="A PEM file with the certificate of this client.")] = ""
    ssl_key: Annotated[str, Meta(description="A PEM file with the key of this client.")] = ""
    ssl_key_password: Annotated[str, Meta(description="The password of that key.", extra=SECRET)] = ""
    ssl_check_hostname: Annotated[bool, Meta(description="Whether a broker's certificate has to name its host.")] = True
    secrets: Annotated[
        str,
        Meta(description="A TOML file of further keys of this table, such as password, kept apart from the config."),
    ] = ""

    def __repr__(self) -> str:
        return f"KafkaSettings(brokers={self.brokers!r}, application={self.application!r}, ...)"  # no secrets
