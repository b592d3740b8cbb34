"""Settings as flags of a command, and what every command needs: its settings, its console.

Law: a setting has one name, one type and one meaning, whether a file, the environment or a flag gives it.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args, get_origin
from typing import Literal as LiteralType

import click

from consumers.config import Config
from consumers.kafka.settings import KafkaSettings
from consumers.settings import Setting, load, settings

_TOPICS = {
    "events",
    "labels",
    "predictions",
    "dead_letters",
    "state",
    "drift",
}  # addresses name them on the command line

KAFKA_FLAGS = {setting.name for setting in settings(KafkaSettings) if not setting.secret} - _TOPICS
"""The settings of Kafka that are flags."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def configured(names: set[str], **defaults: str) -> Callable[[_Command], _Command]:
    """Give a command a flag for each of the named settings, and the inputs as arguments; say some other defaults."""

    def decorate(command: _Command) -> _Command:
        kafka = [setting for setting in settings(KafkaSettings) if setting.name in KAFKA_FLAGS]
        for setting in reversed([*settings(), *kafka]):
            if setting.name in names:
                command = _flag(setting, defaults.get(setting.name))(command)
        return click.option("--config", "file", metavar="FILE", help="A TOML file of settings; flags go before it.")(
            command
        )

    return decorate


def _flag(setting: Setting, told: str | None) -> Callable[[_Command], _Command]:
    if setting.name == "inputs":
        return click.argument("inputs", nargs=-1)
    kind: Any = setting.type
    if get_origin(kind) is LiteralType:
        kind = click.Choice(get_args(kind))
    default = told or (", ".join(map(str, setting.default)) if setting.several else str(setting.default))
    return click.option(
        "--" + setting.name.replace("_", "-"),
        setting.name,
        type=kind,
        is_flag=False,
        multiple=setting.several,
        default=() if setting.several else None,
        help=setting.description
        + ("  Give the flag once for each." if setting.several else "")
        + (f"  [default: {default}]" if default else ""),
    )


def read_config(file: str | None, flags: Mapping[str, Any]) -> Config:
    """Return the settings of a file and of the environment, with the flags that were given laid over them.

    The environment is the object of the command's context.
    """
    return load(file, given_flags(flags), click.get_current_context().obj)


def given_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that were given."""
    return {name: value for name, value in flags.items() if value is not None and value != ()}


def make_console(*, stderr: bool = True) -> Any:
    """Return where people are told things; what is printed is data, and no markup."""
    from rich.console import Console  # noqa: PLC0415 - takes as long to load as the rest of the command

    return Console(stderr=stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)
