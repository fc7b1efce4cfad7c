"""A Debian cloud image, made of Debian's packages: it boots, grows, and cloud-init does what the config drive says.

It takes some minutes and Debian's mirrors. DEBIAN_CLOUD_IMAGE may name an image that was made before.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.drivers.conftest import Hypervisor
from tests.fixtures.patience import eventually
from tests.fixtures.processes import ROOT

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]

UNREACHABLE = re.compile(r"Could not resolve|Temporary failure resolving|Could not connect|Unable to connect")
TOOLS = ("mmdebstrap", "sfdisk", "mke2fs", "mformat", "syslinux", "qemu-img", "ssh-keygen")
BUILD_S, BOOT_S = 1200.0, 600.0
USER_DATA = """#cloud-config
runcmd:
  - [sh, -c, 'echo "SAID name=$(hostname)" > /dev/ttyS0']
  - [sh, -c, 'echo "SAID key=$(cut -d" " -f2 /home/debian/.ssh/authorized_keys)" > /dev/ttyS0']
  - [sh, -c, 'echo "SAID hostkeys=$(ls /etc/ssh/ssh_host_*_key | wc -l)" > /dev/ttyS0']
  - [sh, -c, 'echo "SAID root_mib=$(df -m --output=size / | tail -1 | tr -d " ")." > /dev/ttyS0']
  - [sh, -c, 'echo "SAID sshd=$(systemctl is-active ssh)." > /dev/ttyS0']
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if made := os.environ.get("DEBIAN_CLOUD_IMAGE"):
        return Path(made)
    if missing := [tool for tool in TOOLS if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    target = tmp_path_factory.mktemp("debian") / "debian.qcow2"
    script = [str(ROOT / "install/debian_cloud_image.sh"), str(target)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=BUILD_S, check=False)
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip("Debian's mirrors cannot be reached from here")
    assert done.returncode == 0, done.stderr[-2000:]
    return target


def test_debian_takes_name_key_and_user_data(qemu: Hypervisor, image: Path, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    public_key = (tmp_path / "key.pub").read_text().strip()
    content = image.read_bytes()
    guest = qemu.guest(
        name="Proven One",
        memory_mib=768,
        vcpus=2,
        root_gib=4,
        image_id="debian",
        image_checksum=f"sha256:{hashlib.sha256(content).hexdigest()}",
        image_size_bytes=len(content),
        image_disk_format="qcow2",
        public_key=public_key,
        key_name="mine",
        user_data_base64=base64.b64encode(USER_DATA.encode()).decode(),
    )
    qemu.build(guest, content)

    def said() -> dict[str, str]:
        text = qemu.driver.console_log(guest.uuid, max_bytes=500_000).decode(errors="replace")
        lines = [line.split("SAID ", 1)[1].strip() for line in text.splitlines() if "SAID " in line]
        return dict(line.split("=", 1) for line in lines if "=" in line)

    eventually(lambda: "sshd" in said(), said)
    found = said()
    assert found["name"] == "proven-one"
    assert found["key"] == public_key.split()[1]
    assert int(found["hostkeys"]) >= 1
    assert 3500 < int(found["root_mib"].rstrip(".")) < 4096  # of an image of 1.5 GiB
    assert found["sshd"] == "active."
