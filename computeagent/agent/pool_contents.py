"""What the pools of this host have: told to the control plane, and removed where no row explains it and it says so."""

import logging

from computeagent.agent.context import AgentContext
from computeagent.agent.orphans import NOT_REMOVED_BY_OPTION, NOT_REMOVED_BY_SAFE_MODE
from computeagent.agent.volumes import backend_errors
from computeagent.drivers.base import DriverError
from computeagent.protocol.volumes import VolumesOnHost, VolumeSpec
from computeagent.volumes.base import VolumeBackend
from controlplane.kernel.errors import NotFound
from controlplane.kernel.kill_points import reach

log = logging.getLogger(__name__)


class PoolContents:
    """Tells and removes. `tick` is called by one thread."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._refused_by: str | None = None

    def tick(self, control_plane: str) -> None:
        """`control_plane` is the version that it told last. Raises what a control plane raises that is away."""
        context = self._context
        if self._refused_by == control_plane:
            return
        because = "" if context.options.reap_orphans else NOT_REMOVED_BY_OPTION
        because = because or (NOT_REMOVED_BY_SAFE_MODE if context.safe_mode.reason else "")
        seen = [each for name, pool in context.volumes.pools.items() if (each := _seen(name, pool)) is not None]
        if not seen:
            return
        try:
            due = context.conductor.volumes_present(host=context.host, pools=seen, not_removed_because=because)
        except NotFound:
            self._refused_by = control_plane
            return
        for each in () if because else due:
            self._remove(each)

    def _remove(self, due: VolumesOnHost) -> None:
        """Snapshots before their volumes. What cannot be removed is told again, and is due again."""
        pool = self._context.volumes.pools.get(due.pool)
        if pool is None:
            return
        report = pool.report()
        if report.problem or report.identity != due.identity:
            return
        for name in (*due.snapshots, *due.volumes):
            volume_id, _, snapshot_id = name.partition("/")
            volume = VolumeSpec(volume_id, due.pool, report.kind, 0)
            try:
                with self._context.volumes.turn(volume_id), backend_errors():
                    reach("computeagent.volumes.orphan:before")
                    if snapshot_id:
                        pool.snapshot_delete(volume, snapshot_id)
                    else:
                        pool.delete(volume)
            except DriverError as error:
                log.warning("%s stays in pool %s for now: %s", name, due.pool, error.message)
                continue
            self._context.counts.add("orphan_volumes_removed")
            log.warning("%s is removed from pool %s: no row explains it", name, due.pool)


def _seen(name: str, pool: VolumeBackend) -> VolumesOnHost | None:
    """All that it has; None where it cannot be read, or was another pool before or after it was read, and where another
    host stores it and tells.
    """
    before = pool.report()
    if before.problem or before.is_client:
        return None
    try:
        with backend_errors():
            volumes, snapshots = pool.held()
    except DriverError as error:
        log.warning("what pool %s has cannot be read: %s", name, error.message)
        return None
    after = pool.report()
    if after.problem or after.identity != before.identity:
        return None
    return VolumesOnHost(name, before.identity, volumes, tuple(f"{volume}/{one}" for volume, one in snapshots))
