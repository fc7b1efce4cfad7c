"""An agent that runs in this process, on a hypervisor in memory, against a control plane in memory."""

import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from computeagent.agent.loop import Agent
from computeagent.agent.options import AgentOptions
from computeagent.networks.memory import MemoryPlug
from computeagent.protocol.guests import GuestSpec
from computeagent.volumes.base import VolumeBackend
from tests.fixtures.patience import PATIENCE_S
from tests.units.computeagent.agent.conductor_double import ConductorDouble
from tests.units.computeagent.agent.memory_driver import MemoryDriver

QUICK = AgentOptions(
    wakeup_wait_s=0.05,
    reconcile_interval_s=0.05,
    resource_interval_s=0.1,
    power_sync_interval_s=0.05,
    console_interval_s=0.02,
    shutdown_s=3.0,
)


def guest_spec(**changes: object) -> GuestSpec:
    """A small guest with its own uuid."""
    guest = GuestSpec(
        uuid=str(uuid.uuid4()),
        name="vm",
        project_id="p",
        vcpus=1,
        memory_mib=128,
        root_gib=1,
        ephemeral_gib=0,
        swap_mib=0,
        image_id="i",
        image_checksum="c",
        image_size_bytes=11,
        image_disk_format="raw",
    )
    return replace(guest, **changes)  # type: ignore[arg-type]


@dataclass
class RunningAgent:
    """An agent and the thread that its `run` blocks."""

    agent: Agent
    thread: threading.Thread
    exit_codes: list[int]

    def end(self) -> int:
        """Stop it and wait; its exit code."""
        self.agent.stop()
        return self.exit_code()

    def exit_code(self) -> int:
        """Wait for its end."""
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()
        return self.exit_codes[0]


@dataclass
class World:
    """Both sides of the agents under test."""

    conductor: ConductorDouble
    driver: MemoryDriver
    state_dir: Path
    agents: list[RunningAgent]
    plug: MemoryPlug = field(default_factory=MemoryPlug)
    pools: dict[str, VolumeBackend] = field(default_factory=dict)

    def start(self, **options: object) -> RunningAgent:
        """Run an agent for host h1."""
        agent = Agent(
            host="h1",
            conductor=self.conductor,
            open_driver=self.driver.opened,
            state_dir=self.state_dir,
            plug=self.plug,
            pools=self.pools,
            options=replace(QUICK, **options),  # type: ignore[arg-type]
        )
        return self.run(agent)

    def run(self, agent: Agent) -> RunningAgent:
        """Run this agent until the end of the test."""
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(agent.run()), daemon=True)
        running = RunningAgent(agent, thread, codes)
        self.agents.append(running)
        thread.start()
        return running


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A control plane and a hypervisor; agents that are left running are stopped at the end."""
    world = World(ConductorDouble(), MemoryDriver(), tmp_path / "agent", [])
    yield world
    for gate in world.driver.gates.values():
        gate.set()
    for running in world.agents:
        running.end()
