"""Settings of Kafka from the config, a file of secrets, the environment and flags; and secrets that stay secret."""

import pytest

from consumers.errors import ConfigError
from consumers.kafka.settings import SECRET, KafkaSettings
from consumers.settings import load, settings
from tests.command import streamnb

NAMES = [setting.name for setting in settings(KafkaSettings) if setting.secret]
VALUE = "hunter2-is-not-told"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return what writes a config and a file of secrets, into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(config, secrets):
        (tmp_path / "config.toml").write_text(config)
        (tmp_path / "secrets.toml").write_text(secrets)

    return write


def test_there_are_secrets():
    assert NAMES == ["password", "token", "ssl_key_password"]
    assert SECRET["secret"]


def test_flags_go_before_the_environment_before_the_secrets_before_the_config(files):
    table = "[kafka]\nsecrets = 'secrets.toml'\nusername = 'config'\npassword = 'config'\nworker = 'config'\n"
    files(table + "group = 'config'\n", "username = 'secrets'\npassword = 'secrets'\nworker = 'secrets'\n")
    environment = {"STREAMNB_KAFKA_PASSWORD": "environment", "STREAMNB_KAFKA_WORKER": "environment", "HOME": "/"}
    kafka = load("config.toml", {"worker": "flag"}, environment).kafka
    found = (kafka.group, kafka.username, kafka.password, kafka.worker)
    assert found == ("config", "secrets", "environment", "flag")


def test_the_environment_and_a_flag_may_name_the_file_of_secrets(files):
    files("", "worker = 'here'\n")
    assert load(None, {}, {"STREAMNB_KAFKA_SECRETS": "secrets.toml"}).kafka.worker == "here"
    flagged = load("config.toml", {"secrets": "secrets.toml"}, {"STREAMNB_KAFKA_SECRETS": "none.toml"})
    assert flagged.kafka.worker == "here"


def test_variables_are_read_as_settings_of_their_type():
    environment = {
        "STREAMNB_KAFKA_BROKERS": "one:9092,two:9092",
        "STREAMNB_KAFKA_HEADERS": "true",
        "STREAMNB_KAFKA_COMMIT_RECORDS": "7",
        "STREAMNB_KAFKA_UNTIL": "end",
    }
    kafka = load(None, {}, environment).kafka
    assert kafka.brokers == ("one:9092", "two:9092")
    assert (kafka.headers, kafka.commit_records, kafka.until) == (True, 7, "end")


@pytest.mark.parametrize(
    "secrets",
    [
        f"password = {VALUE}",
        f"password = '{VALUE}",
        f'password = "{VALUE}\\q"',
        f"password = '{VALUE}'\npassword = '{VALUE}'",
        f"password = ['{VALUE}']",
        f"pasword = '{VALUE}'",
        f"secrets = '{VALUE}'",
        f"[kafka]\npassword = '{VALUE}'",
        f"password = '{VALUE}'\ncommit_seconds = 'soon'",
        f"password = '{VALUE}'\nworker = 'no name'",
    ],
)
def test_no_error_tells_a_secret(files, capfd, monkeypatch, secrets):
    """Neither on the terminal nor in what the error was raised from."""
    files("[kafka]\nsecrets = 'secrets.toml'\n", secrets)
    for name in NAMES:
        with pytest.raises(ConfigError) as caught:
            load("config.toml", {}, {f"STREAMNB_KAFKA_{name.upper()}": VALUE, "STREAMNB_KAFKA_UNTIL": "now"})
        assert VALUE not in str(caught.value)
    ran = streamnb(capfd, monkeypatch, "config", "--config", "config.toml")
    assert ran.status == 2
    assert ran.err.startswith("streamnb: ")
    assert VALUE not in ran.err + ran.out
    with pytest.raises(ConfigError) as caught:
        load("config.toml", {}, {})
    error = caught.value
    while error is not None:
        assert VALUE not in str(error)
        error = error.__cause__


def test_no_listing_and_no_repr_tells_a_secret(files, capfd, monkeypatch):
    """That one is set is told, so that who looks for it finds out."""
    files("[kafka]\nsecrets = 'secrets.toml'\n", "".join(f"{name} = '{VALUE}'\n" for name in NAMES))
    monkeypatch.setenv("STREAMNB_KAFKA_TOKEN", VALUE)
    config = load("config.toml", {}, {})
    assert [getattr(config.kafka, name) for name in NAMES] == [VALUE] * 3
    for shown in (repr(config), str(config), repr(config.kafka), f"{config.kafka}"):
        assert VALUE not in shown
    listed = streamnb(capfd, monkeypatch, "config", "--config", "config.toml")
    assert listed.status == 0
    assert VALUE not in listed.out + listed.err
    for name in NAMES:
        assert f"# {name} is set" in listed.out
        assert "--" + name.replace("_", "-") not in streamnb(capfd, monkeypatch, "run", "--help").out.split()
