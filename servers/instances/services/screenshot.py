"""Pictures of a guest's screen: asked of its host's agent as a piece of work, kept for a time, one of each instance."""

import uuid

from django.db import transaction
from django.db.models.functions import Now

from computeagent.protocol.screens import MAX_PNG_BYTES, PNG_MAGIC
from computeagent.protocol.work import WorkKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work, WorkState
from controlplane.work.work import NewWork, WorkLease, compute_queue, open_work_of_kind, work_create, work_finish
from scheduling.fleet.selectors.hosts import host_exists
from servers.conf import server_options
from servers.instances.actions.watching import SCREENSHOT
from servers.instances.selectors.instances import instance_get
from servers.instances.services.hints import journey_changed
from servers.instances.services.state import action_require
from servers.models import Instance, Screenshot
from servers.states import POWERED_ON

ERROR_MAX = 1000


@audited("instance.screenshot", Instance, by="instance_id")
def screenshot_request(*, caller: Caller, instance_id: uuid.UUID) -> Instance:
    """Ask the host of the instance for a picture. Asked again while one is under way it is one.

    The picture is for reading and changes nothing, so neither a task nor a lock of the instance stands in its way.
    Raises Forbidden, NotFound, and Conflict where there is no screen to take one of.
    """
    require(caller, SCREENSHOT.policy)
    instance = instance_get(caller=caller, instance_id=instance_id)
    action_require(instance, SCREENSHOT.name, caller)
    if instance.power_state not in POWERED_ON:
        raise Conflict(_("The guest is off, so it has no screen."))
    if not host_exists(host=instance.host):
        raise Conflict(_("The instance's host was removed from the cloud."))
    with transaction.atomic():
        Instance.objects.select_for_update().filter(pk=instance.pk).first()
        if open_work_of_kind(subject=instance.pk, kind=WorkKind.SCREENSHOT) is None:
            queue = compute_queue(instance.host)
            work_create(NewWork(queue, WorkKind.SCREENSHOT, instance.pk, SCREENSHOT.deadline_s))
            journey_changed(instance.pk)
    return instance


def screenshot_done(*, lease: WorkLease, png: bytes, error: str) -> None:
    """Keep what the agent took, or why there is none. Raises Fenced, and Invalid for what is no PNG of that size."""
    if not error and not png.startswith(PNG_MAGIC):
        raise Invalid(_("This is no PNG."), field="png")
    if len(png) > MAX_PNG_BYTES:
        raise Invalid(_("A picture has at most {max_png_bytes} bytes.", max_png_bytes=MAX_PNG_BYTES), field="png")
    said = error.replace("\0", "")[:ERROR_MAX]
    with transaction.atomic():
        outcome = {"error": said} if said else {}
        work_finish(lease=lease, state=WorkState.FAILED if said else WorkState.DONE, outcome=outcome)
        _keep(lease.subject, b"" if said else png, said)


def screenshot_overdue(work: Work, reason: str) -> None:
    """Nobody took it any more."""
    _keep(work.subject, b"", f"The host did not take it: {reason}")


def screenshots_prune() -> int:
    """Remove pictures older than SCREENSHOT_RETENTION_S. Returns how many."""
    old = Screenshot.objects.filter(taken_at__lt=now_plus(-server_options().screenshot_retention_s))
    return old.delete()[0]


def _keep(instance_id: uuid.UUID, png: bytes, error: str) -> None:
    values = {"png": png, "error": error, "taken_at": Now()}
    Screenshot.objects.update_or_create(instance_uuid=instance_id, defaults=values)
    journey_changed(instance_id)
