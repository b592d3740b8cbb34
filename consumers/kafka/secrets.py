"""The settings of Kafka that stand elsewhere than in the config: a file of secrets, and the environment.

Law: the environment goes before the file, the file before the config; no message holds a secret.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from consumers.errors import ConfigError
from consumers.kafka.settings import KafkaSettings

PREFIX = "STREAMNB_KAFKA_"


def with_secrets(settings: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the table [kafka] of a config with what a file of secrets and the environment say laid over it.

    Parameters
    ----------
    settings
        The table, as it was read.
    environment
        STREAMNB_KAFKA_NAME stands for the key `name`; lists are written with commas between.

    Raises
    ------
    ConfigError
        For a key that is none, a value that cannot be, or a file that cannot be read; the message names where it
        stands, and holds no secret.

    >>> with_secrets({"client": "confluent"}, {"STREAMNB_KAFKA_BROKERS": "a:9092,b:9092"})
    {'client': 'confluent', 'brokers': ['a:9092', 'b:9092']}
    """
    kinds = get_type_hints(KafkaSettings, include_extras=True)
    above = _from_environment(environment, kinds)
    path = above.get("secrets", settings.get("secrets", ""))
    return {**settings, **(_from_file(path, kinds) if path else {}), **above}


def _from_file(path: str, kinds: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"kafka.secrets: cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):  # whose message may hold a part of a secret
        raise ConfigError(f"kafka.secrets: {path} is no TOML: give key = value, a line for each secret") from None
    for name, value in found.items():
        if name not in kinds or name == "secrets":
            raise ConfigError(f"{path}: {name} is no key of the table [kafka]; here stand keys such as password")
        _check(value, kinds[name], f"{path}: {name}", strict=True)
    return found


def _from_environment(environment: Mapping[str, str], kinds: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in kinds:
            raise ConfigError(f"{variable} in the environment: {name} is no key of the table [kafka]")
        kind = kinds[name]
        value = [part.strip() for part in text.split(",") if part.strip()] if _is_list(kind) else text
        _check(value, kind, f"{variable} in the environment", strict=False)
        found[name] = value if _is_list(kind) else msgspec.convert(value, kind, strict=False)
    return found


def _is_list(kind: Any) -> bool:
    return get_origin(get_args(kind)[0]) is tuple


def _check(value: Any, kind: Any, where: str, *, strict: bool) -> None:
    try:
        msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:  # which names what is expected, and the kind of what is there
        raise ConfigError(f"{where}: {error}") from None
