"""How images of a pool are named. What does not begin so is somebody else's and never touched."""

import re
from uuid import uuid4

BASE_SNAPSHOT = "base"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_VOLUME = re.compile(f"kilonova-volume-({_UUID})")
_SNAPSHOT = re.compile(_UUID)
_PART = ".part-"


def volume_name(volume_id: str) -> str:
    """The image of a volume."""
    return f"kilonova-volume-{volume_id}"


def base_name(image_id: str, checksum: str) -> str:
    """The image that holds the bytes of an uploaded image, of which volumes are clones."""
    return f"kilonova-image-{image_id}-{re.sub('[^0-9a-z]', '', checksum.lower())[-16:]}"


def part_name(name: str) -> str:
    """What becomes `name` when it is whole, under a name that no other attempt has."""
    return f"{name}{_PART}{uuid4().hex[:12]}"


def whole_name(name: str) -> str:
    """What a part is to become; the name itself when it is no part."""
    return name.partition(_PART)[0]


def is_part(name: str) -> bool:
    """Whether it was not whole yet."""
    return name.startswith("kilonova-") and _PART in name


def is_base(name: str) -> bool:
    """Whether it is what volumes are clones of."""
    return name.startswith("kilonova-image-") and not is_part(name)


def is_ours(name: str) -> bool:
    """Whether it is anything of these."""
    return name.startswith(("kilonova-volume-", "kilonova-image-"))


def volume_id_of(name: str) -> str:
    """The volume whose whole image this is; empty when it is none."""
    found = _VOLUME.fullmatch(name)
    return found[1] if found else ""


def is_snapshot(name: str) -> bool:
    """Whether it is a snapshot that was asked for, and none that stands under a clone for a moment."""
    return _SNAPSHOT.fullmatch(name) is not None
