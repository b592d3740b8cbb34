"""Whatever befalls workers and broker, nothing is lost and nothing is done twice; `tests/chaos.py` does more of it."""

from dataclasses import replace

import pytest

from tests.chaos import Plan, wreak
from tests.chaos_worker import STEPS

pytestmark = pytest.mark.usefixtures("kafka_jars")


@pytest.mark.parametrize(("client", "events", "kills"), [("kafka-python", 12_000, 6), ("confluent", 6_000, 3)])
def test_states_and_outputs_are_as_without_faults(tmp_path, client, events, kills):
    """Workers are killed at every step, and the broker is killed, and frozen for longer than members may be silent."""
    plan = Plan(events=events, kills=kills, restarts=1, session_seconds=3.0, freeze_seconds=7.0, client=client)
    outcome = wreak(plan, tmp_path)
    if outcome.differences and outcome.forgotten:  # the broker's own doing; it is not likely to do so twice
        outcome = wreak(replace(plan, seed=2), tmp_path / "again")
    assert outcome.differences == []
    assert [outcome.done[f"killed {step}"] for step in STEPS] == [1] * len(STEPS)
    assert outcome.done["killed at random"] == kills
    assert outcome.done["broker killed"] == outcome.done["broker frozen"] == 1


def test_the_same_is_noticed_of_workers_that_promise_less(tmp_path):
    """Outputs that are committed before the offsets they came from are there twice after a kill between the two."""
    faults = {"kills": 0, "steps": ("after offsets",), "restarts": 0, "freezes": 0}
    # No states but the first, each of which says itself up to where it was read.
    plan = Plan(events=2_000, snapshot_records=1_000_000, control=True, **faults)
    differences = wreak(plan, tmp_path).differences
    assert any("more than once" in difference.what for difference in differences)
