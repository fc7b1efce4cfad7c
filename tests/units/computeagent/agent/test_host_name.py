"""A state directory belongs to one host: an agent of another name is refused before it asks anybody."""

from argparse import Namespace
from pathlib import Path

import pytest

from computeagent.agent.loop import Agent
from computeagent.agent.ownership import HOST_FILE, HostRefused, host_name_keep
from computeagent.daemon.program import conductor_of_arguments
from computeagent.protocol.work import WorkKind
from computeagent.transport.secret_file import SecretFile
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World, guest_spec


def test_first_name_is_kept_and_another_refused_with_both(tmp_path: Path) -> None:
    host_name_keep(tmp_path, "hv-1")
    host_name_keep(tmp_path, "hv-1")
    with pytest.raises(HostRefused, match="that of host hv-1, and this agent calls itself hv-2") as refused:
        host_name_keep(tmp_path, "hv-2")
    assert "--host hv-1" in refused.value.message
    assert (tmp_path / HOST_FILE).read_text() == "hv-1\n"


def test_token_of_another_name_is_not_traded(tmp_path: Path) -> None:
    host_name_keep(tmp_path, "hv-1")
    kept = SecretFile(tmp_path)
    kept.take(kept.next_secret())
    secret = kept.read()
    given = Namespace(
        state=tmp_path,
        host="hv-2",
        enrol_token="kne_token",
        control_plane="http://127.0.0.1:9",
        ca_file="",
        cert_file="",
        key_file="",
    )
    with pytest.raises(HostRefused, match="hv-1"):
        conductor_of_arguments(given, lambda _: None)
    assert SecretFile(tmp_path).read() == secret
    assert SecretFile(tmp_path).waiting() is None


def test_agent_ends_before_it_opens_its_hypervisor_or_asks(world: World) -> None:
    world.state_dir.mkdir(parents=True)
    (world.state_dir / HOST_FILE).write_text("other\n")
    agent = Agent(host="h1", conductor=world.conductor, open_driver=world.driver.opened, state_dir=world.state_dir)
    with pytest.raises(HostRefused, match="that of host other"):
        agent.run()
    assert world.driver.verbs == []


def test_name_that_the_control_plane_refuses_is_not_kept(world: World) -> None:
    """As of an agent that was enrolled, and is started under another name before it ever served."""
    world.conductor.secret_of = "h1"
    agent = Agent(host="h2", conductor=world.conductor, open_driver=world.driver.opened, state_dir=world.state_dir)
    with pytest.raises(HostRefused, match="says nothing about host h2"):
        agent.run()
    assert not (world.state_dir / HOST_FILE).exists()
    world.start()
    eventually(lambda: world.conductor.heartbeats > 0)
    assert (world.state_dir / HOST_FILE).read_text() == "h1\n"


def test_agent_that_is_forced_down_takes_no_work_until_that_ends(world: World) -> None:
    world.conductor.forced_down = True
    world.start()
    eventually(lambda: world.conductor.heartbeats > 0)
    work = world.conductor.order(WorkKind.BUILD, guest_spec())
    beats = world.conductor.heartbeats
    eventually(lambda: world.conductor.heartbeats > beats + 3)
    assert (work.state, world.conductor.takes) == ("waiting", 0)
    world.conductor.forced_down = False
    eventually(lambda: work.state == "done")
