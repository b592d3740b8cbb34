"""One broker in a process of its own, to be stopped, killed, frozen and started again.

Law: it keeps its ports and its folder over restarts, so that clients and messages find it again.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.broker.network import answers, free_port
from tests.broker.waiting import until

# One node, few partitions of its own, and all that is done now and then done often, so that tests can wait for it.
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "500",  # how long the controller has for an answer as well
    "broker.session.timeout.ms": "2000",  # how long a killed one is kept from coming back
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "log.cleaner.backoff.ms": "100",
    "log.retention.check.interval.ms": "500",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
}

_CLUSTER = "c3RyZWFtbmItdGVzdHMtMQ"  # the id of every cluster of ours: 16 bytes in base 64
_JAVA = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # starts in half the time
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    # Where it says that it has dropped the mark of a transaction, which it does of partitions without a leader.
    "-Dorg.slf4j.simpleLogger.log.kafka.coordinator.transaction.TransactionMarkerChannelManager=info",
)


class BrokerError(Exception):
    """A broker did not come up, or has ended; the message holds the end of its log."""


class Broker:
    """A Kafka of one node on loopback; as a context manager it is started and, at the end, stopped.

    Parameters
    ----------
    jars
        The folder of Kafka's jars.
    folder
        Where its settings, its data and its log are kept; made where it is not there.
    properties
        Further server properties; they go before those of this module.
    listeners
        The names of the listeners, each with a port of its own; the first is the one of `address`.
    format_options
        Further options of the command that formats the folder.
    """

    def __init__(
        self,
        jars: Path,
        folder: Path,
        properties: Mapping[str, object] | None = None,
        listeners: Sequence[str] = ("PLAINTEXT",),
        format_options: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.log = folder / "broker.log"
        self.jars = jars
        self._format_options = format_options
        self._addresses: dict[str, str] = {}
        for name in (*listeners, "CONTROLLER"):
            self._addresses[name] = f"127.0.0.1:{free_port()}"
        self.address = self.address_of(listeners[0])
        self._properties = {**PROPERTIES, **self._places(), **(properties or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def _places(self) -> dict[str, str]:
        listeners = {name: f"{name}://{address}" for name, address in self._addresses.items()}
        controller = self._addresses["CONTROLLER"]
        return {
            "listeners": ",".join(listeners.values()),
            "advertised.listeners": ",".join(place for name, place in listeners.items() if name != "CONTROLLER"),
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": str(self.folder / "data"),
        }

    def address_of(self, listener: str) -> str:
        """Return "host:port" of a listener."""
        return self._addresses[listener]

    @property
    def pid(self) -> int:
        """The id of the process of a broker that has been started."""
        return self._running().pid

    def start(self) -> None:
        """Start the broker, and return when it answers.

        Raises
        ------
        BrokerError
            When it does not within 60 s.
        """
        if not self.folder.joinpath("data").exists():
            self._format()
        with self.log.open("ab") as log:
            command = [*self._java(), "kafka.Kafka", "server.properties"]
            self._process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        try:
            until(self._is_up, "the broker answers")
        except TimeoutError as error:
            self.kill()
            raise BrokerError(f"{error}; its log ends:\n{self._end_of_log()}") from None

    def stop(self) -> None:
        """End it as an operator would (SIGTERM); one that is frozen or has ended already is no error."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
                raise BrokerError(f"the broker did not stop within 60 s; its log ends:\n{self._end_of_log()}") from None

    def kill(self) -> None:
        """End it as a crash would (SIGKILL)."""
        self._running().kill()
        self._running().wait()

    def freeze(self) -> None:
        """Halt it (SIGSTOP): its connections stay, and nothing answers on them."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)  # from here on it does answer no more

    def thaw(self) -> None:
        """Let a frozen one go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        """Stop it where it runs, and start it."""
        self.stop()
        self.start()

    def answers(self, seconds: float = 1) -> bool:
        """Return whether it answers a request in this time."""
        return answers(self.address, seconds)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _java(self) -> list[str]:
        return [*_JAVA, *_LOGGING, "-cp", f"{self.jars}/*"]

    def _format(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}={value}\n" for name, value in self._properties.items()]
        (self.folder / "server.properties").write_text("".join(lines))
        options = ["-t", _CLUSTER, "-c", "server.properties", *self._format_options]
        command = [*self._java(), "kafka.tools.StorageTool", "format", *options]
        with self.log.open("ab") as log:
            ran = subprocess.run(command, cwd=self.folder, stdout=log, stderr=log, check=False)
        if ran.returncode:
            raise BrokerError(f"the folder of the broker could not be formatted; its log ends:\n{self._end_of_log()}")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise BrokerError("the broker has not been started")
        return self._process

    def _is_up(self) -> bool:
        if (status := self._running().poll()) is not None:
            raise BrokerError(f"the broker ended with status {status}; its log ends:\n{self._end_of_log()}")
        return self.answers()

    def _end_of_log(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])
