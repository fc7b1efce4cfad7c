"""What is asked for otherwise when an instance that found no host is scheduled again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import FlavorSnapshot
from servers.volumes.domain.block_devices import BlockDevice


@dataclass(frozen=True, slots=True)
class RequestChanges:
    """`flavor`: id or name of another one. `availability_zone`: another one; empty for any; None for the one of before.
    `without_hints`: names of scheduler hints that are dropped.

    `generation`: which the instance had when whoever asks looked at it; where it is another by now, nothing is done.
    None: whatever it is.
    """

    flavor: str = ""
    availability_zone: str | None = None
    without_hints: tuple[str, ...] = ()
    generation: int | None = None

    @property
    def words(self) -> str:
        """For people: 'flavor m1.small, any zone'; empty where nothing is asked for otherwise."""
        parts = [f"flavor {self.flavor}"] if self.flavor else []
        if self.availability_zone is not None:
            parts.append(f"zone {self.availability_zone}" if self.availability_zone else "any zone")
        parts += [f"without the hint {name}" for name in self.without_hints]
        return ", ".join(parts)

    def __str__(self) -> str:
        return self.words

    @classmethod
    def of_trial(
        cls, body: Mapping[str, Any] | None, hints: Sequence[str], *, has_group: bool
    ) -> "RequestChanges | None":
        """The changes that a body of a dry run says, for a request with these hints; None for what cannot be asked for
        so: a flavor that is stored nowhere, other properties of the image, another group, changes of the fleet.
        """
        if not body or not body.keys() <= {"flavor", "availability_zone", "hints"}:
            return None
        flavor, left = body.get("flavor", ""), body.get("hints")
        dropped = () if left is None else tuple(name for name in hints if name not in left)
        is_sayable = left is None or (
            bool(dropped) and set(left) <= {"group", *hints} and ("group" in left) == has_group
        )
        if not isinstance(flavor, str) or not is_sayable:
            return None
        return cls(flavor=flavor, availability_zone=body.get("availability_zone"), without_hints=dropped)


NO_CHANGES = RequestChanges()


def devices_with(
    devices: tuple[BlockDevice, ...] | None, old: FlavorSnapshot, new: FlavorSnapshot
) -> tuple[tuple[BlockDevice, ...] | None, str]:
    """The disks that were named, of another flavor, and why they cannot be."""
    if devices is None:
        return None, ""
    local = [one for one in devices if one.is_local and not one.is_root]
    swap_mib, ephemeral_gib = sum(one.size_mib for one in local), sum(one.size_gib for one in local)
    if swap_mib > new.swap_mib or ephemeral_gib > new.ephemeral_gib:
        return None, _("Its request names swap or ephemeral disks that are larger than this flavor's.")
    return tuple(_resized(one, old, new) for one in devices), ""


def _resized(one: BlockDevice, old: FlavorSnapshot, new: FlavorSnapshot) -> BlockDevice:
    is_flavors = one.is_local and one.is_root and one.size_gib == old.root_gib
    return replace(one, size_gib=new.root_gib) if is_flavors else one
