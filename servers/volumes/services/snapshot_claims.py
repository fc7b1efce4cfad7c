"""What snapshots take of their pools: as much as their volume where they are whole copies, else nothing.

A pool that clones shares a snapshot's bytes with its volume; how much of it may be promised is its administrator's to
say, by its allocation ratio.
"""

from placement.selectors.allocations import consumer_holdings
from placement.services import allocations_free
from servers.models import VolumeSnapshot
from servers.volumes.services.abilities import copies_snapshots
from servers.volumes.services.claims import hold


def snapshot_claim(*, snapshot: VolumeSnapshot) -> None:
    """Claim the room of a new snapshot in the pool of its volume. Raises NoCapacity."""
    volume = snapshot.volume
    if volume.pool_id is not None and copies_snapshots(volume):
        hold(consumer_id=snapshot.pk, volume=volume, size_gib=snapshot.size_gib)


def snapshot_owner_set(*, snapshot: VolumeSnapshot) -> None:
    """The snapshot is another project's now: what it claims counts as that one's."""
    if consumer_holdings(snapshot.pk) is not None:
        snapshot_claim(snapshot=snapshot)


def snapshot_unclaim(*, snapshot: VolumeSnapshot) -> None:
    """Give back all that the snapshot claims; twice is once."""
    allocations_free([snapshot.pk])
