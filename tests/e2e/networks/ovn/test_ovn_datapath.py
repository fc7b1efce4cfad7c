"""A real Open vSwitch says of its datapaths whether they track connections."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from computeagent.networks.base import NetworkError
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.ovn.datapath import Datapath
from computeagent.networks.ovn.switch import BRIDGE
from tests.fixtures.ovn import SWITCH_SCHEMA, Daemons, missing_for_ovn, run
from tests.worlds.ovn import until

pytestmark = [pytest.mark.processes, pytest.mark.long]
Vsctl = Callable[..., str]


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[tuple[Vsctl, Datapath]]:
    """One of its own, in a namespace of its own."""
    if missing := missing_for_ovn():
        pytest.skip(missing)
    namespace, directory = f"kn-dp-{uuid4().hex[:6]}", tmp_path / "ovs"
    run("ip", "netns", "add", namespace)
    daemons = Daemons(directory)
    database, control = directory / "db.sock", directory / "vswitchd.ctl"

    def vsctl(*words: str) -> str:
        return run("ovs-vsctl", f"--db=unix:{database}", "--timeout=30", *words, **daemons.environment)

    try:
        run("ovsdb-tool", "create", str(directory / "conf.db"), str(SWITCH_SCHEMA))
        words = (f"--remote=punix:{database}", f"--unixctl={directory}/ovsdb.ctl")
        daemons.start("ovsdb", "ovsdb-server", str(directory / "conf.db"), *words, ready=database)
        vsctl("--no-wait", "init")
        words = (f"--unixctl={control}", f"--pidfile={directory}/ovs-vswitchd.pid")
        prefix = ("ip", "netns", "exec", namespace)
        daemons.start("vswitchd", *prefix, "ovs-vswitchd", f"unix:{database}", *words, ready=control)
        (directory / f"ovs-vswitchd.{daemons.processes['vswitchd'].pid}.ctl").symlink_to(control)
        yield vsctl, Datapath(Commands(()), f"unix:{database}")
        daemons.stop("vswitchd")
        with pytest.raises(NetworkError, match="ovs-vswitchd does not say what its datapath can do"):
            Datapath(Commands(()), f"unix:{database}").probe(is_in_user_space=True)
    finally:
        daemons.close()
        run("ip", "netns", "delete", namespace, check=False)


def test_datapath_in_user_space_tracks_connections(switch: tuple[Vsctl, Datapath]) -> None:
    vsctl, datapath = switch
    vsctl("add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev")
    datapath.probe(is_in_user_space=True)


@pytest.mark.skipif(Path("/sys/module/openvswitch").exists(), reason="this kernel has the module")
def test_kernel_without_the_module_is_named(switch: tuple[Vsctl, Datapath]) -> None:
    vsctl, datapath = switch
    vsctl("--no-wait", "add-br", BRIDGE)
    until(lambda: "no row" not in vsctl("--columns=_uuid", "find", "Bridge", f"name={BRIDGE}"), 30)
    with pytest.raises(NetworkError, match=r"no datapath for br-int: its kernel needs the modules openvswitch"):
        datapath.probe(is_in_user_space=False)
