"""Copies of well-known images: a record and an import, made of an entry of the catalogue."""

from pathlib import Path

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound, Unavailable
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.images.domain.images import Visibility
from servers.images.domain.well_known import SHIPPED, WellKnownImage, catalogue_merged, well_known_read
from servers.images.services.image_import import image_create_by_import
from servers.models import Image


def well_known_images() -> list[WellKnownImage]:
    """The shipped ones and those of IMAGE_CATALOGUE_FILE. Raises Unavailable, or Invalid for a file with a mistake."""
    own = server_options().image_catalogue_file
    files = [well_known_read(SHIPPED.read_text(), where=SHIPPED.name)]
    if own:
        try:
            text = Path(own).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable(_("The file of IMAGE_CATALOGUE_FILE cannot be read. Ask an administrator.")) from error
        files.append(well_known_read(text, where="IMAGE_CATALOGUE_FILE"))
    return catalogue_merged(*files)


@audited("image.create", Image, also=("key",))
def well_known_copy(
    *, caller: Caller | None, key: str, name: str = "", visibility: str = Visibility.PRIVATE.value
) -> Image:
    """Begin to copy it. It is `queued` until its import is done.

    Raises NotFound for a key that the catalogue does not have, and what a create and an import raise.
    """
    found = next((one for one in well_known_images() if one.key == key), None)
    if found is None:
        raise NotFound(_("The catalogue has no image {key}.", key=key[:80]))
    return image_create_by_import(
        caller=caller,
        url=found.url,
        checksum=found.checksum,
        checksum_url=found.checksum_url,
        name=name or found.name,
        visibility=visibility,
        disk_format=found.disk_format,
        min_disk_gib=found.min_disk_gib,
        min_ram_mib=found.min_ram_mib,
        properties=found.properties,
    )
