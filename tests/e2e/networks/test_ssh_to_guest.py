"""What everybody wants of a VM: one's own key pair, an address, a rule for port 22, and `ssh`. On `manage.py up`, as
root and as an ordinary user.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from computeagent.networks.places.probe import places_lack, way_out_lack
from tests.fixtures.installation import Installation
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.ordinary_user import NOBODY
from tests.fixtures.processes import Processes
from tests.fixtures.ssh import key_pair_make, ssh

pytestmark = [pytest.mark.qemu, pytest.mark.libvirt, pytest.mark.long]

RULE_TIMEOUT_S = 90.0
USER_DATA = "IyEvYmluL3NoCmVjaG8gY29tcHV0ZWQgJCgoNiAqIDcpKQo="
"""A script that says: computed 42."""


def _lacks() -> str:
    if os.geteuid() != 0:
        return "only root can be both"
    return "; ".join([*places_lack(), *way_out_lack()])


@pytest.fixture(params=["root", "user"])
def here(
    request: pytest.FixtureRequest,
    processes: Processes,
    tmp_path: Path,
    qemu_answers: Path,
    migrated: MigratedDatabases,
) -> Iterator[Installation]:
    if lack := _lacks():
        pytest.skip(f"missing: {lack}")
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:  # others can read no directory of pytest's
        place = Path(directory)
        found = Installation(
            processes,
            place / "state",
            driver="qemu",
            hypervisors=1,
            qemu_answers=qemu_answers,
            user=NOBODY if request.param == "user" else 0,
            migrated=migrated,
        )
        try:
            yield found.start()
        finally:
            done = found.manage("down", "--grace", "0")
            assert "networks of the hypervisors are removed" in done.stdout, done.stdout + done.stderr


@pytest.fixture
def key(here: Installation) -> Path:
    return key_pair_make(here)


def test_guest_is_reached_by_its_floating_address_with_its_key_pair(here: Installation, key: Path) -> None:
    guest = here.create("web", key_name="me")["id"]
    here.wait_for(lambda: here.statuses() == ["ACTIVE"])
    (public,) = [one["id"] for one in here.call("networks/")["results"] if one["name"] == "public"]
    (port,) = [one["id"] for one in here.call("ports/")["results"] if one["instance"] == guest]
    floating = here.call("floating-ips/", {"network": public, "port": port})["address"]
    here.wait_for(lambda: "SSH host key: " in here.console(guest))
    said = next(line for line in here.console(guest).splitlines() if "SSH host key: " in line)

    closed = ssh(here, key, floating, "true")
    assert closed.returncode != 0, "nothing let port 22 in"
    assert "timed out" in closed.stderr, closed.stderr

    (group,) = [one["id"] for one in here.call("security-groups/")["results"]]
    rule = {"group": group, "direction": "ingress", "protocol": "tcp", "port_min": 22, "port_max": 22}
    here.call("security-group-rules/", rule)
    opened = time.monotonic()
    here.wait_for(lambda: ssh(here, key, floating, "true").returncode == 0)
    print(f"{'user' if here.user else 'root'}: port 22 was open after {time.monotonic() - opened:.2f} s")
    done = ssh(here, key, floating, "hostname; cat /root/.ssh/authorized_keys; dropbearkey -y -f /run/ssh_host_key")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"web\n{key.with_suffix('.pub').read_text().strip()}\n")
    assert said.split()[4] in done.stdout  # the host key that stood on the console

    other = key.with_name("other")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    os.chown(other, here.user, here.user)
    refused = ssh(here, other, floating, "true")
    assert refused.returncode == 255
    assert "Permission denied (publickey)" in refused.stderr


def test_guest_without_a_config_drive_learns_all_from_the_metadata_service(here: Installation, key: Path) -> None:
    guest = here.create("bare", key_name="me", config_drive=False, user_data=USER_DATA)["id"]
    here.wait_for(lambda: here.statuses() == ["ACTIVE"])
    here.wait_for(lambda: "\nUser data ended with status 0" in here.console(guest))
    said = here.console(guest)
    assert "Hello from a guest without a config drive\n" in said
    for line in ("Hello from bare", f"Instance {guest}, ", "computed 42"):
        assert f"\n{line}" in said

    (public,) = [one["id"] for one in here.call("networks/")["results"] if one["name"] == "public"]
    (port,) = [one["id"] for one in here.call("ports/")["results"] if one["instance"] == guest]
    floating = here.call("floating-ips/", {"network": public, "port": port})["address"]
    (group,) = [one["id"] for one in here.call("security-groups/")["results"]]
    here.call("security-group-rules/", {"group": group, "direction": "ingress", "protocol": "tcp"})
    here.wait_for(lambda: ssh(here, key, floating, "true").returncode == 0)
    ask = "wget -q -O - http://169.254.169.254/latest/meta-data/"
    # The address answers before the guest's host has heard that it has one.
    here.wait_for(lambda: ssh(here, key, floating, f"{ask}instance-id; {ask}public-ipv4").stdout.endswith(floating))
