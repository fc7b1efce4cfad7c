"""States and formats of an image, and which state may follow which."""

from enum import StrEnum

from controlplane.kernel.texts import gettext_noop


class ImageStatus(StrEnum):
    """queued: no data yet. saving: an upload runs or was cut off. active: usable. killed: the upload was refused.

    deactivated: only admins may use it. deleted: gone, the row stays for instances that name it.
    """

    QUEUED = gettext_noop("queued")
    SAVING = gettext_noop("saving")
    ACTIVE = gettext_noop("active")
    KILLED = gettext_noop("killed")
    DEACTIVATED = gettext_noop("deactivated")
    DELETED = gettext_noop("deleted")


class Visibility(StrEnum):
    """Who may see and use an image, as in Glance; admins always may.

    public: everybody. community: everybody who knows its id, since lists show it to those who ask for community images
    only. shared: its project, and the members that it has. private: its project.
    """

    PUBLIC = gettext_noop("public")
    COMMUNITY = gettext_noop("community")
    SHARED = gettext_noop("shared")
    PRIVATE = gettext_noop("private")


class MemberStatus(StrEnum):
    """What a member made of an image that was shared with it. Only one that it accepted is in its lists."""

    PENDING = gettext_noop("pending")
    ACCEPTED = gettext_noop("accepted")
    REJECTED = gettext_noop("rejected")


ANY = "all"
"""What lists are asked for, where neither the visibility nor what a member said shall narrow them."""


class DiskFormat(StrEnum):
    """How the bytes of a disk are laid out. Hosts take NATIVE ones; the others are converted once, to qcow2.

    vhd is what QEMU calls vpc. aki and ari are no disks: a kernel, and its initial RAM disk.
    """

    QCOW2 = "qcow2"
    RAW = "raw"
    VMDK = "vmdk"
    VDI = "vdi"
    VHD = "vhd"
    VHDX = "vhdx"
    AKI = "aki"
    ARI = "ari"


NO_DISKS = frozenset({DiskFormat.AKI, DiskFormat.ARI})
"""Images by which others boot."""
NATIVE = frozenset({DiskFormat.QCOW2, DiskFormat.RAW}) | NO_DISKS


class ImageTaskKind(StrEnum):
    """import: the bytes are fetched from a URL. convert: they are turned into a format that hosts take."""

    IMPORT = gettext_noop("import")
    CONVERT = gettext_noop("convert")


class ImageTaskState(StrEnum):
    """The states of Glance's tasks. pending: it waits for its turn. processing: it is being done, or tried again."""

    PENDING = "pending"
    PROCESSING = "processing"
    SUCCESS = "success"
    FAILURE = "failure"


OPEN_TASK_STATES = (ImageTaskState.PENDING, ImageTaskState.PROCESSING)


class ContainerFormat(StrEnum):
    """What is around the disk: nothing."""

    BARE = "bare"


_S = ImageStatus
TRANSITIONS: dict[ImageStatus, frozenset[ImageStatus]] = {
    _S.QUEUED: frozenset({_S.SAVING, _S.KILLED, _S.DELETED}),  # killed: an import was refused before a byte came
    _S.SAVING: frozenset({_S.SAVING, _S.ACTIVE, _S.KILLED, _S.QUEUED, _S.DELETED}),
    _S.ACTIVE: frozenset({_S.DEACTIVATED, _S.DELETED}),
    _S.KILLED: frozenset({_S.SAVING, _S.QUEUED, _S.DELETED}),
    _S.DEACTIVATED: frozenset({_S.ACTIVE, _S.DELETED}),
    _S.DELETED: frozenset(),
}

UPLOADABLE: frozenset[ImageStatus] = frozenset(
    status for status, following in TRANSITIONS.items() if _S.SAVING in following
)
"""Data may be sent in these. `saving` is one of them: a newer upload replaces one that was cut off."""
