"""States of volumes and of what is made of them, spelled as Cinder spells them. Pages translate them."""

from enum import StrEnum

from controlplane.kernel.texts import gettext_noop


class VolumeState(StrEnum):
    """creating -> available <-> reserved -> attaching -> in-use -> detaching -> available; deleting ends it."""

    CREATING = gettext_noop("creating")
    AVAILABLE = gettext_noop("available")
    RESERVED = gettext_noop("reserved")
    ATTACHING = gettext_noop("attaching")
    IN_USE = gettext_noop("in-use")
    DETACHING = gettext_noop("detaching")
    EXTENDING = gettext_noop("extending")
    REVERTING = gettext_noop("reverting")
    BACKING_UP = gettext_noop("backing-up")
    RESTORING = gettext_noop("restoring-backup")
    AWAITING_TRANSFER = gettext_noop("awaiting-transfer")
    UPLOADING = gettext_noop("uploading")
    RETYPING = gettext_noop("retyping")
    MAINTENANCE = gettext_noop("maintenance")
    DELETING = gettext_noop("deleting")
    ERROR = gettext_noop("error")
    ERROR_DELETING = gettext_noop("error_deleting")
    ERROR_EXTENDING = gettext_noop("error_extending")
    ERROR_RESTORING = gettext_noop("error_restoring")


class AttachmentState(StrEnum):
    """RESERVED: promised to an instance that has no host yet. ERROR: its host could not give it; the instance has it
    still, as long as nobody detaches it.
    """

    RESERVED = gettext_noop("reserved")
    ATTACHING = gettext_noop("attaching")
    ATTACHED = gettext_noop("attached")
    DETACHING = gettext_noop("detaching")
    ERROR = gettext_noop("error")


class VolumeSnapshotState(StrEnum):
    """Of a volume's snapshot."""

    CREATING = gettext_noop("creating")
    AVAILABLE = gettext_noop("available")
    DELETING = gettext_noop("deleting")
    ERROR = gettext_noop("error")
    ERROR_DELETING = gettext_noop("error_deleting")


class BackupState(StrEnum):
    """Of a volume's backup."""

    CREATING = gettext_noop("creating")
    AVAILABLE = gettext_noop("available")
    RESTORING = gettext_noop("restoring")
    DELETING = gettext_noop("deleting")
    ERROR = gettext_noop("error")
    ERROR_DELETING = gettext_noop("error_deleting")
