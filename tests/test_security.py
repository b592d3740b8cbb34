"""What is wanting to log in to Kafka is told before a broker is asked, and no secret is ever in a message."""

import pytest

from consumers.errors import ConfigError
from consumers.kafka.secrets import with_secrets
from consumers.kafka.security import checked, token
from consumers.kafka.settings import KafkaSettings

SECRET = "very-secret"  # noqa: S105


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"security_protocol": "SASL_PLAINTEXT", "password": SECRET}, r"kafka\.username is not set"),
        ({"security_protocol": "SASL_PLAINTEXT", "username": "ada"}, r"kafka\.password is not set"),
        (
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"},
            r"neither kafka\.token nor kafka\.token_file",
        ),
        (
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER", "token_file": "/not/there"},
            r"kafka\.token_file: cannot read /not/there: No such file",
        ),
        ({"security_protocol": "SSL", "ssl_ca": "/not/there"}, r"kafka\.ssl_ca: there is no file /not/there"),
        ({"security_protocol": "SSL", "ssl_certificate": "/not"}, r"kafka\.ssl_certificate: there is no file /not"),
        ({"security_protocol": "SSL", "ssl_key": __file__}, r"kafka\.ssl_key is set, kafka\.ssl_certificate is not"),
        ({"security_protocol": "SSL", "ssl_ca": __file__}, r"kafka\.ssl_ca: .* is no PEM file of certificates"),
        (
            {"security_protocol": "SSL", "ssl_certificate": __file__, "ssl_key_password": SECRET},
            r"kafka\.ssl_certificate, ssl_key, ssl_key_password: .* cannot be used together",
        ),
    ],
)
def test_what_is_wanting_to_log_in_is_named(settings, told):
    with pytest.raises(ConfigError, match=told) as raised:
        checked(KafkaSettings(**settings))
    assert SECRET not in str(raised.value)


def test_a_token_is_read_anew_each_time(tmp_path):
    path = tmp_path / "token"
    settings = KafkaSettings(
        security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", token_file=str(path), token=SECRET
    )
    for text in ("one", "two"):
        path.write_text(f"{text}\n")
        assert token(settings) == text


def test_the_environment_goes_before_the_file_of_secrets_and_that_before_the_config(tmp_path):
    path = tmp_path / "secrets.toml"
    path.write_text('password = "of the file"\nusername = "ada"\n')
    config = {"secrets": str(path), "username": "bob", "client": "confluent"}
    environment = {"STREAMNB_KAFKA_PASSWORD": "of the environment", "STREAMNB_KAFKA_COMMIT_SECONDS": "0.5"}
    settings = KafkaSettings(**with_secrets(config, {**environment, "HOME": "/"}))
    assert (settings.password, settings.username, settings.client) == ("of the environment", "ada", "confluent")
    assert settings.commit_seconds == 0.5
    assert "environment" not in repr(settings)


def test_the_file_of_secrets_may_be_named_by_the_environment(tmp_path):
    path = tmp_path / "secrets.toml"
    path.write_text(f'token = "{SECRET}"')
    assert with_secrets({}, {"STREAMNB_KAFKA_SECRETS": str(path)})["token"] == SECRET


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'passwort = "{SECRET}"', "passwort is no key"),
        (f"password = {SECRET}", "is no TOML"),
        (f'password = ["{SECRET}"]', "password: Expected `str`, got `array`"),
        (f'secrets = "{SECRET}"', "secrets is no key"),
    ],
)
def test_a_file_of_secrets_that_cannot_be_is_named_and_not_shown(tmp_path, text, told):
    path = tmp_path / "secrets.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told) as raised:
        with_secrets({"secrets": str(path)}, {})
    assert str(path) in str(raised.value)
    assert SECRET not in str(raised.value)


def test_a_file_of_secrets_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match=r"kafka\.secrets: cannot read /not/there: No such file"):
        with_secrets({"secrets": "/not/there"}, {})


@pytest.mark.parametrize(
    ("variable", "text", "told"),
    [
        ("STREAMNB_KAFKA_PASSWORT", SECRET, "STREAMNB_KAFKA_PASSWORT in the environment: passwort is no key"),
        ("STREAMNB_KAFKA_COMMIT_SECONDS", SECRET, "Expected `float`, got `str`"),
        ("STREAMNB_KAFKA_CLIENT", SECRET, "STREAMNB_KAFKA_CLIENT in the environment: Invalid enum value"),
    ],
)
def test_a_variable_that_cannot_be_is_named(variable, text, told):
    with pytest.raises(ConfigError, match=told):
        with_secrets({}, {variable: text})
