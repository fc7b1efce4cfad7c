"""What deletions and attempts that ended somewhere left in a pool, and who removes it: any host, when it meets it."""

import logging
import time

from computeagent.volumes.base import VolumeBackendError
from computeagent.volumes.rbd.names import BASE_SNAPSHOT, is_base, is_ours, is_part, whole_name
from computeagent.volumes.rbd.place import EBUSY, ENOENT, ENOTEMPTY, RbdPlace

log = logging.getLogger(__name__)
PART_S = 24 * 3600.0
"""A part that is older and that nobody has open is of an attempt that ended."""
BASE_S = 7 * 24 * 3600.0
"""An image's bytes stay for so long after they came, and then for as long as a volume is a clone of them."""


def trash_empty(place: RbdPlace) -> None:
    """Remove what was deleted while it had clones, as far as it has none any more."""
    for entry in place.rbd_json("trash", "ls", place.pool) or ():
        if is_ours(str(entry["name"])):
            target = place.image(str(entry["id"]))
            place.rbd("trash", "rm", "--no-progress", target, passed=(ENOENT, EBUSY, ENOTEMPTY))


def leftovers_remove(place: RbdPlace, names: list[str]) -> None:
    """Remove what nobody needs of these images. What cannot be removed is met again."""
    try:
        trash_empty(place)
        for name in filter(is_part, names):
            if _age_s(place, name) > PART_S and not _is_other_name(place, name):
                log.warning("removing %s from pool %s: nobody made it whole", name, place.pool)
                place.rbd("snap", "purge", "--no-progress", place.image(name), passed=(ENOENT,))
                place.rbd("rm", "--no-progress", place.image(name), passed=(ENOENT, EBUSY, ENOTEMPTY))
        for name in filter(is_base, names):
            if _age_s(place, name) > BASE_S and not place.rbd_json("children", "--all", place.image(name)):
                # Who clones it at this moment finds it gone and makes it again.
                place.rbd("snap", "rm", "--no-progress", place.image(name, BASE_SNAPSHOT), passed=(ENOENT,))
                place.rbd("rm", "--no-progress", place.image(name), passed=(ENOENT, EBUSY, ENOTEMPTY))
    except VolumeBackendError as error:
        log.warning("not all that is left over in pool %s could be removed: %s", place.pool, error.message)


def _age_s(place: RbdPlace, name: str) -> float:
    """By when it was made, which Ceph's program writes in this machine's local time."""
    info = place.rbd_json("info", place.image(name), passed=(ENOENT,))
    if info is None:
        return 0.0
    return time.time() - time.mktime(time.strptime(info["create_timestamp"], "%a %b %d %H:%M:%S %Y"))


def _is_other_name(place: RbdPlace, name: str) -> bool:
    """Whether the same image is whole under its own name: an attempt ended in the middle of the renaming, and removing
    the one would remove the other.
    """
    part = place.rbd_json("info", place.image(name), passed=(ENOENT,))
    whole = place.rbd_json("info", place.image(whole_name(name)), passed=(ENOENT,))
    return part is not None and whole is not None and part["id"] == whole["id"]
