"""Which state of a volume, and of a snapshot, may follow which.

An administrator may set some states by hand (`RESETTABLE`), whatever the row says: for what went wrong outside.
"""

from collections.abc import Mapping
from types import MappingProxyType

from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState

_V = VolumeState
_S = VolumeSnapshotState
_B = BackupState

OF_INSTANCES = frozenset({_V.RESERVED, _V.ATTACHING, _V.IN_USE, _V.DETACHING})
"""An instance has the volume, or was promised it."""
_OF_ATTACHMENTS = OF_INSTANCES | {_V.AVAILABLE}
"""These five follow the attachments, whichever way those go."""

VOLUME_TRANSITIONS: Mapping[VolumeState, frozenset[VolumeState]] = MappingProxyType(
    {
        _V.CREATING: frozenset({_V.AVAILABLE, _V.IN_USE, _V.RESTORING, _V.ERROR, _V.DELETING}),
        _V.AVAILABLE: _OF_ATTACHMENTS
        | {
            _V.EXTENDING,
            _V.REVERTING,
            _V.BACKING_UP,
            _V.RESTORING,
            _V.AWAITING_TRANSFER,
            _V.UPLOADING,
            _V.RETYPING,
            _V.MAINTENANCE,
            _V.DELETING,
            _V.ERROR,
        },
        _V.RESERVED: _OF_ATTACHMENTS | {_V.ERROR},
        _V.ATTACHING: _OF_ATTACHMENTS | {_V.ERROR},
        _V.IN_USE: _OF_ATTACHMENTS | {_V.EXTENDING, _V.BACKING_UP, _V.ERROR},
        _V.DETACHING: _OF_ATTACHMENTS | {_V.ERROR},
        _V.EXTENDING: _OF_ATTACHMENTS | {_V.ERROR_EXTENDING},
        _V.REVERTING: frozenset({_V.AVAILABLE, _V.ERROR}),
        _V.BACKING_UP: _OF_ATTACHMENTS | {_V.ERROR},
        _V.RESTORING: frozenset({_V.AVAILABLE, _V.ERROR_RESTORING, _V.DELETING}),
        _V.AWAITING_TRANSFER: frozenset({_V.AVAILABLE}),
        _V.UPLOADING: frozenset({_V.AVAILABLE}),
        _V.RETYPING: frozenset({_V.AVAILABLE}),
        _V.MAINTENANCE: frozenset({_V.AVAILABLE}),
        _V.DELETING: frozenset({_V.ERROR_DELETING}),
        _V.ERROR: frozenset({_V.DELETING, _V.REVERTING}),
        _V.ERROR_DELETING: frozenset({_V.DELETING}),
        _V.ERROR_EXTENDING: frozenset({_V.DELETING, _V.EXTENDING}),
        _V.ERROR_RESTORING: frozenset({_V.DELETING, _V.RESTORING}),
    }
)

SNAPSHOT_TRANSITIONS: Mapping[VolumeSnapshotState, frozenset[VolumeSnapshotState]] = MappingProxyType(
    {
        _S.CREATING: frozenset({_S.AVAILABLE, _S.ERROR, _S.DELETING}),
        _S.AVAILABLE: frozenset({_S.DELETING, _S.ERROR}),
        _S.DELETING: frozenset({_S.ERROR_DELETING}),
        _S.ERROR: frozenset({_S.DELETING}),
        _S.ERROR_DELETING: frozenset({_S.DELETING}),
    }
)

BACKUP_TRANSITIONS: Mapping[BackupState, frozenset[BackupState]] = MappingProxyType(
    {
        _B.CREATING: frozenset({_B.AVAILABLE, _B.ERROR, _B.DELETING}),
        _B.AVAILABLE: frozenset({_B.RESTORING, _B.DELETING, _B.ERROR}),
        _B.RESTORING: frozenset({_B.AVAILABLE, _B.ERROR}),
        _B.DELETING: frozenset({_B.ERROR_DELETING}),
        _B.ERROR: frozenset({_B.DELETING}),
        _B.ERROR_DELETING: frozenset({_B.DELETING}),
    }
)

DELETABLE = frozenset({_V.AVAILABLE, _V.ERROR, _V.ERROR_RESTORING, _V.ERROR_EXTENDING, _V.ERROR_DELETING})
"""A volume in one of these may be deleted, as in Cinder, unless it has snapshots or an instance has it."""
GIVEN_UP = DELETABLE | {_V.CREATING}
"""A volume that is being made may be deleted too: what is under way is given up."""
EXTENDABLE = frozenset({_V.AVAILABLE, _V.IN_USE, _V.ERROR_EXTENDING})
"""In `in-use` where its pool can extend a volume that a guest has."""
REVERTABLE = frozenset({_V.AVAILABLE, _V.ERROR})
"""In `error` too: going back that was cut off is done again from the beginning."""
RESTORABLE = frozenset({_V.AVAILABLE, _V.ERROR_RESTORING})
"""Restoring that was cut off is done again from the beginning."""
SNAPSHOTTABLE = frozenset({_V.AVAILABLE, _V.IN_USE})
"""In `in-use` where its pool can."""
CLONABLE = frozenset({_V.AVAILABLE, _V.IN_USE})
"""A volume may be made of one in these states: of what it has at the moment at which that is begun."""
BUSY = frozenset(
    {
        _V.CREATING,
        _V.EXTENDING,
        _V.REVERTING,
        _V.BACKING_UP,
        _V.RESTORING,
        _V.UPLOADING,
        _V.RETYPING,
        _V.DELETING,
        _V.ATTACHING,
        _V.DETACHING,
    }
)
"""Something is being done to the volume, and its end will write the next state."""
RESETTABLE = frozenset({_V.AVAILABLE, _V.IN_USE, _V.ERROR, _V.MAINTENANCE, _V.RESERVED, _V.DETACHING})
"""What an administrator may write over a state."""
BACKUP_DELETABLE = frozenset({_B.CREATING, _B.AVAILABLE, _B.ERROR, _B.ERROR_DELETING})
"""A backup that is being made may be deleted too: what is under way is given up."""
BACKUP_RESETTABLE = frozenset({_B.AVAILABLE, _B.ERROR})
"""What an administrator may write over a state of a backup that is not being deleted."""
SNAPSHOT_DELETABLE = frozenset({_S.AVAILABLE, _S.ERROR, _S.ERROR_DELETING})
SNAPSHOT_RESETTABLE = frozenset({_S.AVAILABLE, _S.ERROR})


def volume_states_before(after: VolumeState) -> frozenset[VolumeState]:
    """The states that `after` may follow."""
    return frozenset(state for state, following in VOLUME_TRANSITIONS.items() if after in following)


def snapshot_states_before(after: VolumeSnapshotState) -> frozenset[VolumeSnapshotState]:
    """The states that `after` may follow."""
    return frozenset(state for state, following in SNAPSHOT_TRANSITIONS.items() if after in following)


def backup_states_before(after: BackupState) -> frozenset[BackupState]:
    """The states that `after` may follow."""
    return frozenset(state for state, following in BACKUP_TRANSITIONS.items() if after in following)
