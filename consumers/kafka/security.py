"""Security: how to speak and log in to the brokers, as the plain options that each Kafka client takes.

Law: what is missing or cannot be read is told before a broker is asked, naming the setting; no secret is in a message.
"""

import base64
import binascii
import ssl
from pathlib import Path
from typing import Any

import orjson

from consumers.errors import ConfigError
from consumers.kafka.settings import KafkaSettings

OPAQUE_TOKEN_SECONDS = 300.0  # after how long a token that does not tell its end is read anew


def checked(settings: KafkaSettings) -> KafkaSettings:
    """Return the settings, having looked at all that logging in needs.

    Raises ConfigError naming the setting that is missing, or whose file cannot be read.

    >>> checked(KafkaSettings(security_protocol="SASL_SSL"))
    Traceback (most recent call last):
    consumers.errors.ConfigError: kafka.username is not set: SCRAM-SHA-512 logs in with it
    """
    if uses_tls(settings):
        tls_context(settings)
    if not uses_login(settings):
        return settings
    if settings.sasl_mechanism == "OAUTHBEARER":
        token(settings)
        return settings
    for name in ("username", "password"):
        if not getattr(settings, name):
            raise ConfigError(f"kafka.{name} is not set: {settings.sasl_mechanism} logs in with it")
    return settings


def uses_tls(settings: KafkaSettings) -> bool:
    """Return whether what is said to the brokers is encrypted."""
    return settings.security_protocol in {"SSL", "SASL_SSL"}


def uses_login(settings: KafkaSettings) -> bool:
    """Return whether to log in with a name or a token."""
    return settings.security_protocol in {"SASL_PLAINTEXT", "SASL_SSL"}


def user(settings: KafkaSettings) -> str:
    """Return who this is to the brokers, for messages.

    >>> user(KafkaSettings()), user(KafkaSettings(security_protocol="SASL_SSL", username="ada", password="x"))
    ('an anonymous user', "user 'ada'")
    """
    if uses_login(settings):
        return "the token's user" if settings.sasl_mechanism == "OAUTHBEARER" else f"user {settings.username!r}"
    return f"the certificate {settings.ssl_certificate}" if settings.ssl_certificate else "an anonymous user"


def token(settings: KafkaSettings) -> str:
    """Return the token to log in with, read anew where it is in a file. Raises ConfigError where there is none."""
    if not settings.token_file:
        if not settings.token:
            raise ConfigError("neither kafka.token nor kafka.token_file is set: OAUTHBEARER logs in with one")
        return settings.token
    try:
        found = Path(settings.token_file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"kafka.token_file: cannot read {settings.token_file}: {_why(error)}") from None
    if not found:
        raise ConfigError(f"kafka.token_file: {settings.token_file} is empty")
    return found


def token_end(token: str, now: float) -> float:
    """Return when a token ends, in seconds since 1970: what a JWT says, or else some minutes from now.

    >>> token_end("opaque", 1000.0)
    1300.0
    >>> token_end("e30.eyJleHAiOjEyMzR9.", 1000.0)
    1234.0
    """
    try:
        payload = token.split(".")[1]
        return float(orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
        return now + OPAQUE_TOKEN_SECONDS


def tls_context(settings: KafkaSettings) -> ssl.SSLContext:
    """Return what TLS trusts and shows. Raises ConfigError naming the file that is not there or cannot be used."""
    for name in ("ssl_ca", "ssl_certificate", "ssl_key"):
        path = getattr(settings, name)
        if path and not Path(path).is_file():
            raise ConfigError(f"kafka.{name}: there is no file {path}")
    if settings.ssl_key and not settings.ssl_certificate:
        raise ConfigError("kafka.ssl_key is set, kafka.ssl_certificate is not: a key goes with its certificate")
    try:
        context = ssl.create_default_context(cafile=settings.ssl_ca or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"kafka.ssl_ca: {settings.ssl_ca} is no PEM file of certificates: {_why(error)}") from None
    context.check_hostname = settings.ssl_check_hostname
    context.sslsocket_class = _Socket
    if settings.ssl_certificate:
        try:  # a password that is a function keeps OpenSSL from asking for one at the terminal
            context.load_cert_chain(
                settings.ssl_certificate, settings.ssl_key or None, password=lambda: settings.ssl_key_password
            )
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"kafka.ssl_certificate, ssl_key, ssl_key_password: {settings.ssl_certificate} and "
                f"{settings.ssl_key or 'the key in it'} cannot be used together: {_why(error)}"
            ) from None
    return context


def kafka_python_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the options of kafka-python, but for what provides a token, which is of its own class."""
    options: dict[str, Any] = {"security_protocol": settings.security_protocol}
    if uses_tls(settings):
        options["ssl_context"] = tls_context(settings)
        options["ssl_check_hostname"] = settings.ssl_check_hostname
    if uses_login(settings):
        options["sasl_mechanism"] = settings.sasl_mechanism
        if settings.sasl_mechanism != "OAUTHBEARER":
            options |= {"sasl_plain_username": settings.username, "sasl_plain_password": settings.password}
    return options


def confluent_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the options of confluent-kafka, but for what provides a token."""
    options: dict[str, Any] = {"security.protocol": settings.security_protocol}
    if uses_tls(settings):
        options["ssl.endpoint.identification.algorithm"] = "https" if settings.ssl_check_hostname else "none"
        files = {
            "ssl.ca.location": settings.ssl_ca,
            "ssl.certificate.location": settings.ssl_certificate,
            "ssl.key.location": settings.ssl_key or settings.ssl_certificate,
            "ssl.key.password": settings.ssl_key_password,
        }
        options |= {name: value for name, value in files.items() if value}
    if uses_login(settings):
        options["sasl.mechanism"] = settings.sasl_mechanism
        if settings.sasl_mechanism != "OAUTHBEARER":
            options |= {"sasl.username": settings.username, "sasl.password": settings.password}
    return options


class _Socket(ssl.SSLSocket):
    """A socket that is closed when the handshake fails, which kafka-python leaves to the garbage collector."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except OSError:
            self.close()
            raise


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or getattr(error, "reason", None) or "it is not text")
