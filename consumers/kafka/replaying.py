"""The program behind `streamnb replay`: files to a topic.

Law: it says how far it came, however it ends.
"""

import time
from collections import Counter
from contextlib import ExitStack

from rich.console import Console

from consumers.config import Config
from consumers.errors import InterruptedRunError
from consumers.inputs import FileSource
from consumers.interrupts import Interrupts
from consumers.kafka.client import partitions_of
from consumers.kafka.clients import connect
from consumers.kafka.feeding import Feeder, Pace, messages_of
from consumers.kafka.topics import with_address
from consumers.report import printable


def replay(config: Config, console: Console, address: str, *, key: str, rate: float) -> Counter[str]:
    """Send the events of the inputs to a topic; return how many records were none, by reason.

    Parameters
    ----------
    address
        The topic, as kafka://HOST:PORT/TOPIC or by its name.
    key
        The field whose value is the key of the message.
    rate
        Events a second; 0 is as fast as possible.

    Raises ConfigError, FileError, BrokerError, InterruptedRunError.
    """
    kafka, topic = with_address("TOPIC", address, config.kafka)
    source = FileSource(config.inputs, config.format, config.max_record_bytes)
    source.check({})
    text = {config.label, config.id, *config.categorical, *config.bag, *config.text}
    dead: Counter[str] = Counter()
    with ExitStack() as stack:
        client = connect(kafka)
        admin = client.admin()
        stack.callback(admin.close)
        partitions = partitions_of(admin, topic)
        interrupts = stack.enter_context(Interrupts())
        status, begun = stack.enter_context(console.status("")), time.monotonic()
        feeder = Feeder(
            client,
            topic,
            partitions,
            pace=Pace(rate, time.monotonic),
            clock=time.monotonic,
            pause=lambda seconds: interrupts.pause(seconds, time.sleep),
            watch=lambda sent: status.update(
                f"{sent:,} events sent, {sent / (time.monotonic() - begun):,.0f} a second"
            ),
        )
        stack.callback(feeder.close)
        try:
            for batch in source.batches([]):
                for letter in batch.dead:
                    if letter.reason not in dead:
                        console.print(
                            f"{printable(batch.position.stream)}, offset {letter.offset:,}: not sent, {letter.reason} "
                            f"({printable(letter.detail)})"
                        )
                    dead[letter.reason] += 1
                feeder.feed(*messages_of(batch, key, text))
                interrupts.check()
            feeder.make_sure()
        except InterruptedRunError:
            feeder.make_sure()
            raise
        finally:
            seconds = time.monotonic() - begun
            console.print(f"{topic}: {feeder.sent:,} events sent, {feeder.sent / seconds:,.0f} a second")
            if feeder.without_key:
                console.print(f"without a key, since they have no {printable(key)}: {feeder.without_key:,}")
            for reason, records in dead.most_common():
                console.print(f"not sent, {reason}: {records:,}")
    return dead
