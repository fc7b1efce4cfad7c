"""What `manage.py up` gives on one machine: guests of a network on two hypervisors, reached from the machine itself."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from computeagent.networks.places.names import names_of
from computeagent.networks.places.probe import places_lack
from tests.fixtures.installation import Installation
from tests.fixtures.processes import Processes

pytestmark = [pytest.mark.qemu, pytest.mark.libvirt, pytest.mark.long]


def answers(address: str) -> bool:
    return subprocess.run(["busybox", "ping", "-c1", "-W1", address], capture_output=True, check=False).returncode == 0


def test_guests_on_two_hypervisors_are_reached_by_floating_addresses_until_down(
    processes: Processes, tmp_path: Path, qemu_answers: Path
) -> None:
    if os.geteuid() != 0 or (lack := places_lack()):
        pytest.skip(f"not root, or missing: {lack if os.geteuid() == 0 else ''}")
    here = Installation(processes, tmp_path / "state", driver="qemu", hypervisors=2, qemu_answers=qemu_answers).start()
    names = names_of(tmp_path / "state" / "networks")
    try:
        here.wait_for(lambda: len(here.call("hosts/")["results"]) == 2)  # `start` waits for a first one only
        guests = [here.create(name)["id"] for name in ("first", "second")]
        here.wait_for(lambda: [one["status"] for one in here.instances()] == ["ACTIVE", "ACTIVE"])
        instances = [here.call(f"instances/{guest}/") for guest in guests]
        assert {one["host"] for one in instances} == {"hv-1", "hv-2"}
        for guest, one in zip(guests, instances, strict=True):
            (address,) = one["addresses"]["private"]
            words = f"eth0 has {address}"
            here.wait_for(lambda guest=guest, words=words: words in here.console(guest))

        (public,) = [one["id"] for one in here.call("networks/")["results"] if one["name"] == "public"]
        ports = [one for one in here.call("ports/")["results"] if one["instance"] in guests]
        floating = [
            here.call("floating-ips/", method="POST", body={"network": public, "port": one["id"]})["address"]
            for one in ports
        ]
        time.sleep(1)
        assert [answers(each) for each in floating] == [False, False]
        (group,) = [one["id"] for one in here.call("security-groups/")["results"]]
        rule = {"group": group, "direction": "ingress", "protocol": "icmp"}
        here.call("security-group-rules/", method="POST", body=rule)
        here.wait_for(lambda: all(answers(each) for each in floating))

        here.kill_all_nine()
        assert all(answers(each) for each in floating)  # nobody of ours has to live for that
        here.start()
        assert all(answers(each) for each in floating)
    finally:
        done = here.manage("down", "--grace", "0")
    assert "networks of the hypervisors are removed" in done.stdout, done.stdout + done.stderr
    assert not [name for name in os.listdir("/run/netns") if name.startswith(names.middle)]
    assert names.machine_link not in os.listdir("/sys/class/net")
