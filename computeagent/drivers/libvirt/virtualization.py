"""KVM or QEMU's emulation: decided by a trial guest, because having /dev/kvm does not say that KVM is usable.

Where nested virtualisation is restricted, a KVM guest starts but runs real-mode code slowly, several seconds for
what emulation does in 0.2 s, or ends with an internal error at the first steps of a kernel. So a boot sector that
takes these steps has to speak within `TRIAL_LIMIT_S`. The answer is kept in a file until libvirt, QEMU, the kernel,
the rights on /dev/kvm or the trial change; not where emulated guests do not start either, which says nothing of KVM.
"""

import json
import logging
import platform
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from computeagent.drivers.cpu_options import CpuMode
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, libvirt
from computeagent.drivers.libvirt.files import file_replace, host_errors, locked
from computeagent.drivers.libvirt.guest_cpu import GuestCpu
from computeagent.drivers.libvirt.guest_xml import DiskDevice, GuestDefinition, GuestMetadata, guest_xml
from computeagent.drivers.libvirt.trial_sector import trial_sector

KVM, EMULATED = "kvm", "qemu"
TRIAL_LIMIT_S = 2.0
TRIAL_VERSION = 2
"""Answers of another trial than this are not believed."""
TRIAL_UUID = "6b766d20-7472-4961-8c20-677565737421"
_POLL_S = 0.02
_WORDS = "kvm speaks"
_MEMORY_MIB = 32

logger = logging.getLogger(__name__)


def virt_type_choose(conn: Any, state_dir: Path, shared_dir: Path) -> str:
    """'kvm' or 'qemu', from an earlier trial's answer in `shared_dir` or from a trial now.

    The drivers that share the directory wait for the first of them, so that a machine is tried only once.
    """
    with host_errors("choosing the virtualization type"), locked(shared_dir / "virt_type.lock"):
        # Makes libvirt examine QEMU (seconds) and keep what it found, also under the lock.
        conn.getCapabilities()
        return _known_or_tried(conn, state_dir, shared_dir / "virt_type.json")


def _known_or_tried(conn: Any, state_dir: Path, answer_file: Path) -> str:
    host = _host_identity(conn)
    known = _remembered(answer_file, host)
    if known:
        return known
    try:
        chosen, reason = _decide(conn, state_dir / "trial")
    except LibvirtError as error:
        logger.warning(
            "no trial guest starts here, under KVM or without it, so it is tried again at the next start; until then "
            "guests run with type %s: %s",
            EMULATED,
            error_text(error),
        )
        return EMULATED
    logger.info("guests run with type %s: %s", chosen, reason)
    answer = {"host": host, "virt_type": chosen, "reason": reason}
    file_replace(answer_file, json.dumps(answer, indent=1).encode())
    return chosen


def _decide(conn: Any, directory: Path) -> tuple[str, str]:
    """The type, and why. Raises LibvirtError where no guest starts with either."""
    if not Path("/dev/kvm").exists():
        return EMULATED, "there is no /dev/kvm"
    if not _libvirt_offers_kvm(conn):
        return EMULATED, "libvirt does not offer KVM here"
    try:
        elapsed_s = _trial(conn, directory, KVM)
    except LibvirtError as error:
        _trial(conn, directory, EMULATED)
        return EMULATED, f"a trial guest under KVM did not start: {error_text(error)}"
    if elapsed_s is None:
        return EMULATED, f"a trial guest under KVM said nothing within {TRIAL_LIMIT_S} s"
    return KVM, f"a trial guest under KVM spoke after {elapsed_s:.2f} s"


def _trial(conn: Any, directory: Path, virt_type: str) -> float | None:
    """Run the trial guest and remove it again, whatever happens. The seconds until it spoke; None if it did not."""
    with host_errors("trying KVM"):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o711, parents=True)
        (directory / "disk").write_bytes(trial_sector(_WORDS).ljust(2**20, b"\0"))
        console = directory / "console.log"
        console.touch()
    _trial_end(conn)
    try:
        conn.createXML(guest_xml(_trial_definition(directory, virt_type)), 0)
        return _wait_for_words(console)
    finally:
        _trial_end(conn)
        shutil.rmtree(directory, ignore_errors=True)


def _trial_definition(directory: Path, virt_type: str) -> GuestDefinition:
    return GuestDefinition(
        metadata_of_guest=GuestMetadata(TRIAL_UUID, "trial of KVM", "", "", 0, 0, 0),
        virt_type=virt_type,
        vcpus=1,
        memory_mib=_MEMORY_MIB,
        arch=platform.machine(),
        machine="pc",
        cpu=GuestCpu(CpuMode.HOST_PASSTHROUGH) if virt_type == KVM else None,
        disks=(DiskDevice(directory / "disk", "raw", "virtio", "vda"),),
        serial_path=directory / "console.log",
    )


def _wait_for_words(console: Path) -> float | None:
    """Seconds until the guest spoke, or None when it stayed silent too long."""
    start = time.monotonic()
    while (elapsed_s := time.monotonic() - start) < TRIAL_LIMIT_S:
        if _WORDS.encode() in console.read_bytes():
            return elapsed_s
        time.sleep(_POLL_S)
    return None


def _trial_end(conn: Any) -> None:
    """Destroy the trial guest, this one or one that a killed process left; it is transient, so that ends it."""
    with suppress(LibvirtError):
        conn.lookupByUUIDString(TRIAL_UUID).destroy()


def _libvirt_offers_kvm(conn: Any) -> bool:
    try:
        conn.getDomainCapabilities(None, platform.machine(), None, KVM, 0)
    except LibvirtError:
        return False
    return True


def _host_identity(conn: Any) -> dict[str, object]:
    """What the answer depends on. libvirt numbers versions as major * 1000000 + minor * 1000 + release."""
    try:
        hypervisor = conn.getVersion()
    except LibvirtError:
        hypervisor = 0
    return {
        "hypervisor": hypervisor,
        "libvirt": libvirt.getVersion(),
        "kernel": platform.release(),
        "kvm": _kvm_rights(),
        "trial": TRIAL_VERSION,
        "uri": str(conn.getURI()).partition("?")[0],
    }


def _kvm_rights() -> list[int]:
    """Mode, owner and group of /dev/kvm, so that granting access leads to a new trial; empty without KVM."""
    try:
        state = Path("/dev/kvm").stat()
    except OSError:
        return []
    return [state.st_mode, state.st_uid, state.st_gid]


def _remembered(answer_file: Path, host: dict[str, object]) -> str:
    try:
        answer = json.loads(answer_file.read_bytes())
    except (OSError, ValueError):
        return ""
    if not isinstance(answer, dict) or answer.get("host") != host:
        return ""
    return str(answer["virt_type"]) if answer.get("virt_type") in {KVM, EMULATED} else ""
