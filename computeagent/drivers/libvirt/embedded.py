"""Embedded hypervisors (`qemu:///embed?root=DIR`): a private QEMU driver inside this process, without a daemon.

libvirt's rules for them: DIR is absolute, one process opens it at a time, and one process opens one root only.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_xml import DOMAIN_NAME_LENGTH
from computeagent.drivers.libvirt.half_started import half_started_forget
from computeagent.drivers.libvirt.hypervisor_root import (
    SOCKET_PATH_MAX_BYTES,
    link_ensure,
    root_of,
    short_path,
)
from computeagent.drivers.libvirt.qemu_account import (
    KVM,
    QEMU_USER,
    USE_KVM,
    holds_for_qemu,
    qemu_conf,
    qemu_user_require,
)

_AGENT_SOCKET = "/lib/qemu/channel/target/domain-99999-" + "x" * DOMAIN_NAME_LENGTH + "/org.qemu.guest_agent.0"
ROOT_MAX_BYTES = SOCKET_PATH_MAX_BYTES - len(_AGENT_SOCKET)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddedRoot:
    """Where an embedded hypervisor keeps its own files. `short` is the same directory by a path that fits."""

    path: Path
    short: Path

    @property
    def uri(self) -> str:
        """The URI to open."""
        return f"qemu:///embed?root={quote(str(self.short))}"

    def log_path(self, domain_name: str) -> Path:
        """QEMU's own log of one domain, which libvirt leaves behind."""
        return self.path / "log" / "qemu" / f"{domain_name}.log"


def is_embedded(uri: str) -> bool:
    """Whether this URI is an embedded hypervisor."""
    return urlsplit(uri).path == "/embed"


def embedded_root_prepare(uri: str, *, cache: Path, guest_files: Sequence[Path] = ()) -> EmbeddedRoot:
    """Make root directory and configuration for `uri`; what libvirt learns of QEMU goes to `cache`, and QEMU has to
    reach the directories `guest_files`.

    Raises DriverError that says what is wrong with the URI or missing on the machine.
    """
    path = root_of(uri)
    qemu_user_require()
    try:
        # Its own sockets and status files are safe behind the modes libvirt gives to them.
        (path / "etc").mkdir(parents=True, exist_ok=True)
        (path / "etc" / "qemu.conf").write_text(qemu_conf(qemu_account((path, *guest_files))))
        link_ensure(path / "cache", cache)
        half_started_forget(path / "run" / "qemu")
        return EmbeddedRoot(path=path, short=short_path(path, max_bytes=ROOT_MAX_BYTES))
    except OSError as error:
        raise DriverError(f"cannot prepare the hypervisor's root {path}: {error}") from error


def qemu_account(directories: Sequence[Path]) -> str:
    """As whom QEMU runs: `QEMU_USER` if this process is root, else as this process (empty).

    'root' is the last resort, with a warning: where that user may not enter one of `directories`, or may not use a
    KVM that is there (libvirt would then examine QEMU anew for each guest, a minute each time).
    """
    if os.geteuid() != 0:
        return ""
    wanted: list[Sequence[str]] = [("-x", str(directory)) for directory in directories]
    if KVM.exists():
        wanted.append(USE_KVM)
    for condition in wanted:
        if not holds_for_qemu(condition):
            log.warning(
                "QEMU runs as root, because the user %s fails `test %s`: see docs/hypervisor.md",
                QEMU_USER,
                " ".join(condition),
            )
            return "root"
    return QEMU_USER
