"""What a guest did by itself, in the journal of its instance."""

from django.db.models.functions import Now

from servers.instances.domain.state_reasons import INCIDENTS
from servers.instances.services.hints import journey_changed
from servers.instances.services.journal import action_close, action_open
from servers.models import Instance, InstanceAction


def incident_record(instance: Instance, name: str, message: str) -> None:
    """One of INCIDENTS, in the caller's transaction. One that repeats at once is written over the one before: a guest
    whose watchdog fires each minute fills no table.
    """
    if name not in INCIDENTS:
        raise ValueError(f"{name} is nothing that a guest does by itself")
    newest = InstanceAction.objects.filter(instance_uuid=instance.pk).order_by("-started_at", "-id").first()
    if newest is not None and newest.action == name:
        InstanceAction.objects.filter(pk=newest.pk).update(message=message, finished_at=Now())
        journey_changed(instance.pk)
        return
    action_open(instance_id=instance.pk, action=name, user_id=None, project_id=instance.project_id, work=None)
    action_close(instance_id=instance.pk, actions=(name,), result="error", message=message)
