"""Metadata of volumes and snapshots, key by key: what nobody named stays, whoever writes beside."""

import uuid
from collections.abc import Collection, Mapping

from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from servers.volumes.selectors.volumes import snapshot_get, volume_get
from servers.volumes.services.copies import snapshot_held, volume_held
from servers.volumes.services.snapshots import snapshot_update
from servers.volumes.services.volumes import volume_update


def volume_metadata_change(
    *, caller: Caller | None, volume_id: uuid.UUID, put: Mapping[str, str] = {}, removed: Collection[str] = ()
) -> dict[str, str]:
    """Write these keys of a volume's metadata and remove those; returns all that it has then.

    Raises VolumeNotFound, InvalidFields; NotFound for a key to remove that there is not.
    """

    def work() -> dict[str, str]:
        volume_get(caller=caller, volume_id=volume_id)
        after = _changed(volume_held(volume_id=volume_id).metadata, put, removed)
        return dict(volume_update(caller=caller, volume_id=volume_id, changes={"metadata": after}).metadata)

    return in_transaction(work)


def snapshot_metadata_change(
    *, caller: Caller | None, snapshot_id: uuid.UUID, put: Mapping[str, str] = {}, removed: Collection[str] = ()
) -> dict[str, str]:
    """The same of a snapshot. Raises SnapshotNotFound, InvalidFields, NotFound."""

    def work() -> dict[str, str]:
        snapshot_get(caller=caller, snapshot_id=snapshot_id)
        after = _changed(snapshot_held(snapshot_id=snapshot_id).metadata, put, removed)
        return dict(snapshot_update(caller=caller, snapshot_id=snapshot_id, changes={"metadata": after}).metadata)

    return in_transaction(work)


def _changed(before: Mapping[str, str], put: Mapping[str, str], removed: Collection[str]) -> dict[str, str]:
    if missing := sorted(set(removed) - set(before)):
        raise NotFound(_("Metadata has no key {missing!r:.80}.", missing=missing[0]))
    return {key: value for key, value in {**before, **put}.items() if key not in removed}
