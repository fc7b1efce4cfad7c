"""The image that a guest is rescued with, for all that is done with images of guests."""

from dataclasses import replace

from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestSpec


def of_rescue_image(guest: GuestSpec) -> GuestSpec:
    """The guest as if it were made from the image that it is rescued with. Raises DriverError where there is none."""
    image = guest.rescue
    if image is None:
        raise DriverError(f"guest {guest.uuid} is to be rescued without an image")
    return replace(
        guest,
        image_id=image.id,
        image_checksum=image.checksum,
        image_size_bytes=image.size_bytes,
        image_disk_format=image.disk_format,
    )
