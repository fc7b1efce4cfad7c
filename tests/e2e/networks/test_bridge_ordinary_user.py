"""All of it without root: in a user namespace an ordinary user has bridges, rules, namespaces and taps of his own."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.ordinary_user import as_ordinary_user, owned_by_ordinary_user, python_of_ordinary_user
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.processes import ROOT

pytestmark = [pytest.mark.processes, pytest.mark.long]

PROGRAM = """
import sys
from pathlib import Path
from computeagent.networks.base import NetworkPlace
from computeagent.networks.bridge.dhcp_server import running
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.protocol.networks import FloatingSpec, NetworkSpec, RouterLeg, RouterSpec, SubnetSpec
from tests.worlds.bridge_place import OPEN, Place, document, group, network, new_id, port_in, port_spec, run

run("mount", "-t", "tmpfs", "none", "/run")
Path("/run/netns").mkdir()
run("ip", "link", "set", "lo", "up")
run("ip", "link", "add", "br-ex", "type", "bridge")
run("ip", "address", "add", "203.0.113.1/24", "dev", "br-ex")
run("ip", "link", "set", "br-ex", "up")
directory = Path(sys.argv[1]) / "networks"
where = NetworkPlace((), "192.0.2.1", {"public": "br-ex"}, tap_uid=0, namespace_prefix="kn-user")
place = Place("kn-user", BridgePlug(where, directory), where, directory)
place.plug.open()
outside = SubnetSpec(new_id(), "203.0.113.0/24", "203.0.113.1")
external = NetworkSpec(new_id(), 1500, subnets=(outside,), physical_network="public")
of, closed = network(segment=7, peers=("192.0.2.2",)), group()
a, b = (port_in(of, f"10.50.0.{n}", group_ids=(OPEN.id,)) for n in (5, 6))
c, d = port_in(of, "10.50.0.7", group_ids=(closed.id,)), port_in(of, "10.50.0.8")
inner, outer = port_in(of, "10.50.0.1"), port_in(external, "203.0.113.9")
legs = [RouterLeg(each.id, each.network_id, each.mac, each.addresses) for each in (inner, outer)]
router = RouterSpec(new_id(), legs[:1], legs[1], floating=(FloatingSpec(new_id(), "203.0.113.22", "10.50.0.6"),))
applied = place.plug.apply(document([external, of], [a, b, c, d], [OPEN, closed], routers=(router,)))
assert applied.problems == (), applied.problems
guest_a, guest_b, guest_c = (place.guest(port) for port in (a, b, c))
guest_b.run("ip", "route", "add", "default", "via", "10.50.0.1")
assert guest_a.pings("10.50.0.6") and not guest_a.pings("10.50.0.7")
said = run("busybox", "ping", "-c", "1", "-W", "2", "203.0.113.22", check=False)
assert said.returncode == 0, said.stdout
assert guest_a.succeeds("busybox", "udhcpc", "-i", "eth0", "-n", "-q", "-t", "4", "-T", "1", "-s", "/bin/true")
assert place.plug.plug(port_spec(d)).name in run("ip", "-br", "link").stdout
assert place.plug.apply(document([], [], revision=2)).problems == ()
assert running(directory / "dhcp" / of.id) is None
assert not any(line.startswith(("kn", "tp")) for line in run("ip", "-br", "link").stdout.splitlines())
print("all done")
"""


def test_an_ordinary_user_has_networks_in_a_user_namespace(tmp_path: Path) -> None:
    for directory in (tmp_path, *tmp_path.parents):
        if os.geteuid() == 0 and str(directory).startswith("/tmp/pytest"):
            directory.chmod(directory.stat().st_mode | 0o055)
    command = ["unshare", "-U", "-r", "-n", "-m", python_of_ordinary_user(), "-c", PROGRAM]
    home = owned_by_ordinary_user(tmp_path)
    done = subprocess.run(
        as_ordinary_user([*command, str(home)]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout.endswith("all done\n"), done.stdout + done.stderr
