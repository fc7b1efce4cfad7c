"""States and formats of an image, and which state may follow which."""

from enum import StrEnum


class ImageStatus(StrEnum):
    """queued: no data yet. saving: an upload runs or was cut off. active: usable. killed: the upload was refused.

    deactivated: only admins may use it. deleted: gone, the row stays for instances that name it.
    """

    QUEUED = "queued"
    SAVING = "saving"
    ACTIVE = "active"
    KILLED = "killed"
    DEACTIVATED = "deactivated"
    DELETED = "deleted"


class Visibility(StrEnum):
    """public: everybody sees and uses it. private: its project and admins. shared: private, until members exist."""

    PUBLIC = "public"
    PRIVATE = "private"
    SHARED = "shared"


class DiskFormat(StrEnum):
    """How the bytes of a disk are laid out."""

    QCOW2 = "qcow2"
    RAW = "raw"


class ContainerFormat(StrEnum):
    """What is around the disk: nothing."""

    BARE = "bare"


_S = ImageStatus
TRANSITIONS: dict[ImageStatus, frozenset[ImageStatus]] = {
    _S.QUEUED: frozenset({_S.SAVING, _S.DELETED}),
    _S.SAVING: frozenset({_S.SAVING, _S.ACTIVE, _S.KILLED, _S.QUEUED, _S.DELETED}),
    _S.ACTIVE: frozenset({_S.DEACTIVATED, _S.DELETED}),
    _S.KILLED: frozenset({_S.SAVING, _S.DELETED}),
    _S.DEACTIVATED: frozenset({_S.ACTIVE, _S.DELETED}),
    _S.DELETED: frozenset(),
}

UPLOADABLE: frozenset[ImageStatus] = frozenset(
    status for status, following in TRANSITIONS.items() if _S.SAVING in following
)
"""Data may be sent in these. `saving` is one of them: a newer upload replaces one that was cut off."""
