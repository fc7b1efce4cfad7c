"""Secrets of volumes in libvirt: there while a guest is started or gets a volume, and gone afterwards.

They are ephemeral, so libvirt writes them nowhere, and private, so it shows them to nobody. QEMU has what it needs from
then on; a guest that is started again gets them again.
"""

import base64
import binascii
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, is_unsupported, libvirt
from computeagent.drivers.libvirt.volume_xml import SECRET_NAME, VolumeSecret, secret_xml, volume_secrets
from computeagent.protocol.volumes import GuestVolume

log = logging.getLogger(__name__)


@contextmanager
def secrets_defined(conn: Any, volumes: Collection[GuestVolume]) -> Iterator[None]:
    """The secrets of these volumes are there. Raises DriverError, LibvirtError."""
    made = []
    try:
        for secret in volume_secrets(volumes):
            defined = conn.secretDefineXML(secret_xml(secret))
            made.append(defined)
            defined.setValue(_value(secret), 0)
        yield
    finally:
        for defined in made:
            with suppress(LibvirtError):  # a libvirtd that ended has forgotten it
                defined.undefine()


def secrets_forget(conn: Any) -> None:
    """Remove what a process that died had defined. Only before any guest is started by this one."""
    try:
        for secret in conn.listAllSecrets(libvirt.VIR_CONNECT_LIST_SECRETS_EPHEMERAL):
            if (secret.usageID() or "").startswith(SECRET_NAME):
                secret.undefine()
    except LibvirtError as error:
        if not is_unsupported(error):
            log.warning("secrets of volumes could not be looked for: %s", error_text(error))


def _value(secret: VolumeSecret) -> bytes:
    """Raises DriverError, without a word of the secret."""
    source = secret.volume.source
    if source is None or secret.usage != "ceph":
        return b"" if source is None else source.passphrase.encode()
    try:
        return base64.b64decode(source.user_key, validate=True)
    except (binascii.Error, ValueError):
        raise DriverError(f"the key of the user of volume {secret.volume.volume.id}'s pool is not base64") from None
