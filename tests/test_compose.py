"""The compose file is run without an engine: its broker's settings, and every command of its services."""

import contextlib
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.broker import read_all, until
from tests.broker.jars import VERSION
from tests.command import streamnb_process, streamnb_started

ROOT = Path(__file__).resolve().parents[1]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "streamnb"}
PLACES = ("listeners", "advertised_listeners", "controller_quorum_voters", "listener_security_protocol_map")
BUILD = OURS["topics"]["build"]["dockerfile_inline"].splitlines()
COPIED = [shlex.split(line)[1:-1] for line in BUILD if line.startswith("COPY")]


def arguments(service):
    """Return what the command of a service gives to streamnb."""
    program, *given = shlex.split(service["command"])
    assert program == "streamnb"
    return given


@pytest.fixture
def address(make_broker):
    """Return the address of a broker with the settings of the compose file, but for the names of its hosts."""
    named = {name.removeprefix("KAFKA_").lower(): value for name, value in SERVICES["kafka"]["environment"].items()}
    return make_broker(**{name: value for name, value in named.items() if name not in PLACES}).address


def replicas(service):
    return service.get("deploy", {}).get("replicas", 1)


def test_predictions_appear(address, tmp_path, monkeypatch):
    """The topics are made, then all others begin at once; two workers answer with what a third has learned."""
    environment = {**OURS["topics"]["environment"], "STREAMNB_KAFKA_BROKERS": address}
    assert {name: OURS[name]["environment"]["STREAMNB_KAFKA_EVENTS"] for name in OURS} == dict.fromkeys(OURS, "shuttle")
    assert streamnb_process(tmp_path, *shlex.split(BUILD[-1].removeprefix("RUN streamnb"))).status == 0
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert streamnb_process(tmp_path, *arguments(OURS["topics"])).status == 0

    def answered():
        return [
            prediction
            for message in read_all(address, "streamnb-predictions")
            if (prediction := json.loads(message.value))["states"] and prediction["label"] is not None
        ]

    with contextlib.ExitStack() as stack:
        started = [
            (name, stack.enter_context(streamnb_started(tmp_path, *arguments(service))))
            for name, service in OURS.items()
            for _ in range(replicas(service))
            if name != "topics"
        ]
        assert [name for name, _ in started].count("predict") == 2
        predictions = until(answered, "events are answered with states", 120)
        for _, process in started:
            process.terminate()
        said = [(name, *process.communicate(timeout=60)) for name, process in started]
    assert {prediction["stream"] for prediction in predictions} == {"shuttle"}
    for name, _, err in said:
        assert "stopped by SIGTERM" in err, f"{name} ended by itself: {err}"
    shown = {name: out for name, out, _ in said}
    assert re.search(r"^shuttle +0 +[\d,-]+ ", shown["learned"], re.MULTILINE)
    assert "streamnb-predict: " in shown["answered"]


def test_every_image_is_pinned():
    base = BUILD[0].removeprefix("FROM ")
    images = [base, *(service["image"] for name, service in SERVICES.items() if name not in OURS)]
    assert all(re.search(r":\d+\.\d+\.\d+(-slim)?$", image) for image in images)
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{VERSION}"
    assert [name for name, service in OURS.items() if "build" in service] == ["topics"]


def test_the_image_gets_all_that_the_package_is_built_from():
    """And every path is there; the names of packages are those that the wheel is made of."""
    paths = {path for copied in COPIED for path in copied}
    assert paths == {"pyproject.toml", "README.md", "LICENSE", "streamnb", "consumers"}
    assert all((ROOT / path).exists() for path in paths)


def test_each_service_waits_for_what_it_needs():
    """The broker answers before topics are made; they are there before anything else begins."""
    assert OURS["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    assert SERVICES["kafka"]["healthcheck"]["test"][0] == "CMD"
    for name in OURS.keys() - {"topics"}:
        assert OURS[name]["depends_on"] == {"topics": {"condition": "service_completed_successfully"}}


def test_nothing_in_it_is_secret():
    said = {name for service in SERVICES.values() for name in service["environment"]}
    assert not [name for name in said if re.search("PASS|TOKEN|SECRET|KEY", name)]
