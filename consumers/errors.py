"""What can go wrong by no fault of the program's: each error is one sentence that says what, where, and what to do."""


class RefusalError(Exception):
    """The command cannot be done as it was given."""


class ConfigError(RefusalError):
    """A setting that cannot be; the message names it and says what can."""


class FileError(RefusalError):
    """A file that cannot be used; the message names it, says why, and what to do."""


class BrokerError(Exception):
    """A Kafka cluster that does not do what is asked; the message says what, names the address or topic, what to do."""


class InterruptedRunError(Exception):
    """A signal asked the run to stop; `signal` is its number, `saved` says what became of what was read."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(f"stopped by {name}")
        self.signal = number
        self.saved = ""
