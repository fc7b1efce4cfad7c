"""Whether a volume's file can be read past the page cache of its host, which some file systems cannot."""

import errno
import os
from pathlib import Path

from computeagent.drivers.libvirt.volume_xml import CACHED, DIRECT
from computeagent.protocol.volumes import GuestVolume, PoolKind


def volume_cache(volume: GuestVolume) -> str:
    """libvirt's cache mode of the volume's disk. A file that cannot be opened now is left to QEMU to complain of."""
    source = volume.source
    if source is None or source.kind is not PoolKind.FILE:
        return DIRECT
    try:
        os.close(os.open(Path(source.path), os.O_RDONLY | os.O_DIRECT))
    except OSError as error:
        return CACHED if error.errno == errno.EINVAL else DIRECT
    return DIRECT
