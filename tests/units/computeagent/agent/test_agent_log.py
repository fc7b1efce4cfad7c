"""What an agent's log tells of the hypervisor: each verb that changes a guest, as part of which work."""

import logging
import math
import time
from collections.abc import Iterator

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.work import WorkKind
from controlplane.kernel.log_lines import ContextFilter
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conductor_double import ConductorDouble
from tests.units.computeagent.agent.conftest import World, guest_spec


class RecordingHandler(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """In the thread that logs."""
        self.records.append(record)

    def of(self, verb: str, guest_uuid: str) -> list[logging.LogRecord]:
        """The lines about a driver's verb on a guest."""
        return [one for one in self.records if one.getMessage().startswith(f"driver: {verb} of {guest_uuid}")]


@pytest.fixture
def recorded() -> Iterator[RecordingHandler]:
    """Everything that agents log meanwhile."""
    handler = RecordingHandler()
    handler.addFilter(ContextFilter())
    logger = logging.getLogger("computeagent")
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_spawn_is_logged_with_its_work_and_instance(world: World, recorded: RecordingHandler) -> None:
    guest = guest_spec()
    work = world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    (line,) = recorded.of("spawn", guest.uuid)
    assert " took " in line.getMessage()
    assert (line.instance, line.work_id) == (guest.uuid, work.work_id)  # type: ignore[attr-defined]


def test_failed_verb_is_logged_with_its_reason(world: World, recorded: RecordingHandler) -> None:
    guest = guest_spec()
    world.driver.failures["spawn"] = [DriverError("no such machine type")]
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    eventually(lambda: recorded.of("destroy", guest.uuid))
    (line,) = recorded.of("spawn", guest.uuid)
    assert line.getMessage().endswith("s: no such machine type")


def test_refused_agent_says_the_reason_once_and_ends_without_a_traceback(
    world: World, recorded: RecordingHandler
) -> None:
    world.conductor = ConductorDouble(report_interval_s=1.0)
    running = world.start()
    eventually(lambda: len(world.conductor.reports) > 1)
    world.conductor.refusal = "This secret was revoked."
    began = time.monotonic()
    assert running.exit_code() == 1
    took_s = time.monotonic() - began
    counts = running.agent.context.counts
    refused = [one for one in recorded.records if "This secret was revoked." in one.getMessage()]
    assert [one.levelname for one in refused] == ["WARNING", "CRITICAL"]
    assert not any(one.exc_info for one in recorded.records)
    ticks = ("own-work", "power", "console", "resources", "usage", "wakeups")
    assert sum(counts[f"{name}_failed"] for name in ticks) > 1
    # With rests that double from 0.2 s on, three tries a thread in the second until the heartbeat.
    assert all(counts[f"{name}_failed"] <= 3 + math.log2(1 + took_s / 0.2) for name in ticks)


def test_agent_that_reaches_nobody_at_its_start_says_so_once(world: World, recorded: RecordingHandler) -> None:
    world.conductor.away = True
    world.start()
    eventually(lambda: len([one for one in recorded.records if "the control plane is away" in one.getMessage()]) == 1)
    world.conductor.away = False
    eventually(lambda: world.conductor.heartbeats > 0)
    assert len([one for one in recorded.records if "trying again" in one.getMessage()]) == 1
