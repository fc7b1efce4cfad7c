"""`qemu:///system` from one end to the other: a guest with a volume, its consoles in a real Chromium, each action of
`bench.actions`, and what is left on the host afterwards.
"""

import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.actions import one_round
from bench.actions_client import Api
from computeagent.drivers.libvirt.private.daemon import private_daemon_impossible
from servers.instances.actions.table import ACTIONS
from tests.e2e.test_consoles_of_a_real_guest import TIMEOUT_MS, console_log, keys_pressed, opened
from tests.fixtures.installation import PASSWORD, Installation
from tests.fixtures.processes import Processes
from tests.fixtures.system_hypervisor import SystemHypervisor

pytestmark = [
    pytest.mark.processes,
    pytest.mark.browser,
    pytest.mark.libvirt,
    pytest.mark.qemu,
    pytest.mark.long,
]
HOST, PROMPT = "hv1", "writer:/#"
DEFINED = {
    "nwfilter-define": "<filter name='clean-traffic'/>",
    "net-define": "<network><name>default</name><bridge name='virbr0'/></network>",
}
"""What Debian's packages of libvirt bring, here without a rule and without addresses."""
ELSEWHERE = {"soft_delete", "restore", "attach_interface", "detach_interface"}
"""Here a deletion cannot be undone, and its host carries no networks; `e2e/networks/ovn/test_ovn_cloud.py` has them."""
BOOT_S = 10.0
"""For so long a guest comes up before `bench.actions` asks it to shut down."""


@pytest.fixture
def directory() -> Iterator[Path]:
    if os.geteuid() != 0 or private_daemon_impossible():
        pytest.skip("root's libvirtd in a mount namespace of its own needs root and libvirtd")
    with tempfile.TemporaryDirectory(prefix="kn-") as made:  # QEMU's user can pass no directory of pytest's
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.fixture
def cloud(processes: Processes, tmp_path: Path) -> Iterator[Installation]:
    env = {"SHELVED_OFFLOAD_TIME_S": "-1"}
    here = Installation(processes, tmp_path / "state", driver="qemu", hypervisors=0, env=env)
    yield here.start(is_alone=True)
    here.stop()


@pytest.fixture
def machine(directory: Path) -> Iterator[str]:
    """A network namespace."""
    name = directory.name
    subprocess.run(["ip", "netns", "add", name], check=True)
    subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
    yield name
    subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.fixture
def host(
    cloud: Installation, processes: Processes, machine: str, directory: Path, qemu_answers: Path
) -> Iterator[SystemHypervisor]:
    found = SystemHypervisor(processes, cloud, HOST, machine, directory / HOST, qemu_answers=qemu_answers)
    found.start()
    for verb, document in DEFINED.items():
        file = directory / f"{verb}.xml"
        file.write_text(document)
        found.run("virsh", "-c", "qemu:///system", verb, str(file))
    found.run("virsh", "-c", "qemu:///system", "net-start", "default")
    cloud.wait_for(cloud.is_ready)
    yield found
    found.close()


def test_volume_consoles_and_every_action_of_a_guest(cloud: Installation, host: SystemHypervisor, page: Page) -> None:
    guest = cloud.create("writer")["id"]
    cloud.wait_for(lambda: cloud.statuses() == ["ACTIVE"])
    assert cloud.call(f"instances/{guest}/")["host"] == HOST
    cloud.wait_for(lambda: PROMPT in console_log(cloud, guest))
    volume = cloud.call("volumes/", {"name": "data", "size_gib": 1})["id"]
    cloud.wait_for(lambda: cloud.call(f"volumes/{volume}/")["state"] == "available")
    cloud.call(f"instances/{guest}/volumes/", {"volume": volume})
    cloud.wait_for(lambda: cloud.call(f"volumes/{volume}/")["attachments"][0]["state"] == "attached")
    file = host.volumes / "volumes" / volume
    assert file.stat().st_uid != 0  # QEMU's user has it

    typed_into_the_serial_console(cloud, guest, page)
    assert b"typed into a console" in file.read_bytes()[:512]
    opened(cloud, guest, "vnc", page)
    page.locator("[data-screen] canvas").click()
    keys_pressed(page, "dd if=/dev/vdb of=/dev/ttyS0 bs=20 count=1\n")
    cloud.wait_for(lambda: console_log(cloud, guest).count("typed into a console") > 1)
    page.goto("about:blank")

    cloud.call(f"instances/{guest}/volumes/{volume}/", method="DELETE")
    cloud.wait_for(lambda: cloud.call(f"volumes/{volume}/")["state"] == "available")
    assert file.stat().st_uid == 0
    cloud.call(f"instances/{guest}/", method="DELETE")
    cloud.wait_for(lambda: cloud.instances() == [])
    cloud.call(f"volumes/{volume}/", method="DELETE")

    took: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    one_round(Api(f"http://127.0.0.1:{cloud.port}", "admin", PASSWORD), took, BOOT_S)
    assert {name for name, _, _ in took} | ELSEWHERE == set(ACTIONS)
    print("\n".join(f"{name}: {seconds[0]:.2f} s" for (name, _, _), seconds in took.items()))
    nothing_is_left(cloud, host)


def typed_into_the_serial_console(cloud: Installation, guest: str, page: Page) -> None:
    """What is typed there goes to the volume."""
    opened(cloud, guest, "serial", page)
    rows = page.locator(".xterm-rows")
    page.locator(".xterm-screen").click()
    page.keyboard.press("Enter")
    expect(rows).to_contain_text(PROMPT, timeout=TIMEOUT_MS)
    page.keyboard.type("echo typed into a console | dd of=/dev/vdb conv=sync,fsync && echo wrote $((40 + 2))\n")
    expect(rows).to_contain_text("wrote 42", timeout=TIMEOUT_MS)
    page.keyboard.type("clear; dd if=/dev/vdb bs=20 count=1\n")
    expect(rows).to_contain_text("typed into a console", timeout=TIMEOUT_MS)


def nothing_is_left(cloud: Installation, host: SystemHypervisor) -> None:
    """No guest, no disk, no volume, no image."""
    cloud.wait_for(lambda: cloud.call("volumes/")["results"] == [])
    assert host.run("virsh", "-q", "-c", "qemu:///system", "list", "--all").strip() == ""
    for name in ("volumes", "snapshots", "parts"):
        assert list((host.volumes / name).iterdir()) == []
    assert [one.name for one in host.directory.glob("run/qemu/*.pid")] == ["driver.pid"]  # libvirt's own
    assert cloud.manage("audit").returncode == 0
