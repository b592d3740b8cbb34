"""Settings from TOML, the environment and flags to one checked Config.

Law: a wrong key or value is named, with what is allowed, before anything is touched; a secret is never shown.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from consumers.config import Config
from consumers.errors import ConfigError
from consumers.kafka.secrets import PREFIX, with_secrets
from consumers.kafka.settings import SECRET, KafkaSettings

KAFKA = "kafka"
"""The name of the table of Kafka's settings."""


class Setting(msgspec.Struct, frozen=True):
    """One setting: its name, the type of its value (of each, where there may be several), its default, its meaning."""

    name: str
    type: Any
    several: bool
    default: Any
    description: str
    secret: bool = False

    @property
    def allowed(self) -> str:
        """What a value may be, in words."""
        if get_origin(self.type) is Literal:
            return "one of " + ", ".join(get_args(self.type))
        words = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}[self.type]
        return f"a list, each of them {words}" if self.several else words


def settings(of: type[msgspec.Struct] = Config) -> list[Setting]:
    """Return every setting, in order: of the config but for its tables, or of a table."""
    hints = get_type_hints(of, include_extras=True)
    found = []
    for field in msgspec.structs.fields(of):
        kind, meta = get_args(hints[field.name])
        several = get_origin(kind) is tuple
        each = get_args(kind)[0] if several else kind
        if each is not KafkaSettings:
            secret = meta.extra == SECRET
            found.append(Setting(field.name, each, several, field.default, meta.description, secret))
    return found


def load(path: str | None, flags: Mapping[str, Any], environment: Mapping[str, str]) -> Config:
    """Return the settings of a TOML file, if any, with the secrets, the environment and the flags laid over them.

    Parameters
    ----------
    flags
        Settings by name, those of the table [kafka] among them.
    environment
        Its variables STREAMNB_KAFKA_NAME are settings of the table [kafka].

    Raises ConfigError.
    """
    values = _read(path) if path else {}
    table = values.get(KAFKA, {})
    if not isinstance(table, dict):
        raise ConfigError("kafka is a table: put its settings under [kafka]")
    own = {setting.name for setting in settings()}
    kafka = {name: value for name, value in flags.items() if name not in own}
    rest = {name: text for name, text in environment.items() if name.removeprefix(PREFIX).lower() not in kafka}
    table = {**with_secrets({**table, **kafka}, rest), **kafka}
    return check(
        {**values, **{name: flags[name] for name in flags if name in own}, **({KAFKA: table} if table else {})}
    )


def check(values: Mapping[str, Any]) -> Config:
    """Return settings as a Config; ConfigError names the first that cannot be."""
    known = {setting.name: setting for setting in settings()}
    _check_known(values, [*known, KAFKA], "")
    tables = {"": known}
    if isinstance(values.get(KAFKA), dict):
        tables[KAFKA] = {setting.name: setting for setting in settings(KafkaSettings)}
        _check_known(values[KAFKA], list(tables[KAFKA]), "[kafka] ")
    try:
        config = msgspec.convert(values, Config)
    except msgspec.ValidationError as error:
        found = re.search(r"\$\.(?:(kafka)\.)?(\w+)", str(error))
        if not found:
            raise ConfigError(str(error)) from error
        table, name = found[1] or "", found[2]
        setting, value = tables[table][name], (values[table] if table else values)[name]
        bound = str(error).partition(" - at")[0]
        shown = "what it is" if setting.secret else repr(value)
        raise ConfigError(f"{name} is {shown}: it must be {setting.allowed} ({bound})") from error
    _check_text(config)
    _check_names(config)
    return config


def _check_known(values: Mapping[str, Any], known: list[str], table: str) -> None:
    for name in values:
        if name not in known:
            raise ConfigError(f"{table}{name} is no setting: the settings are {', '.join(known)}")


def _check_text(config: Config) -> None:
    """Raise ConfigError for text that no snapshot could hold: bytes of the command line that are not UTF-8."""
    for name, value in config.state_settings().items():
        for text in value if isinstance(value, tuple) else (value,):
            try:
                str(text).encode()
            except UnicodeEncodeError as error:
                raise ConfigError(f"{name} is {text!a:.80}: it must be UTF-8") from error


def _check_names(config: Config) -> None:
    """Raise ConfigError where one name is given two parts to play."""
    parts = [(name, (getattr(config, name),)) for name in ("label", "id", "weight", "time") if getattr(config, name)]
    parts += [(name, getattr(config, name)) for name in ("ignore", "numeric", "categorical", "bag", "text")]
    seen: dict[str, str] = {}
    for part, names in parts:
        for name in names:
            if seen.setdefault(name, part) != part:
                raise ConfigError(f"{part} is given {name!r}, and so is {seen[name]}: a key can be only one of them")


def _read(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"config file {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"config file {path} is not TOML: {error}") from error
