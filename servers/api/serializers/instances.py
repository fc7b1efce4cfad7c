"""An instance on the wire, and what may be sent to make one."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.conf import server_options
from servers.instances.actions.table import VERBS
from servers.instances.domain.soft_delete import restorable_until
from servers.instances.selectors.instances import instance_details
from servers.models import AttemptRecord, Instance, InstanceAction, InstanceActionEvent, InstanceFault
from servers.states import api_status


class InstanceInput(StrictInput):
    """The body of a create. Values are checked by the service, so that every door has the same rules."""

    name = serializers.CharField(trim_whitespace=False, max_length=100_000)
    flavor = serializers.CharField(help_text="Id or name.", max_length=255)
    image = serializers.CharField(help_text="Id or name.", max_length=255)
    min_count = serializers.IntegerField(default=1)
    max_count = serializers.IntegerField(required=False, help_text="Defaults to min_count.")
    batch = serializers.CharField(
        required=False,
        default="all_or_nothing",
        max_length=40,
        help_text="all_or_nothing, or best_effort: as many as find a host, min_count at least.",
    )
    availability_zone = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="A zone; admins may say zone:host, zone:host:node or zone::node.",
        max_length=800,
    )
    hints = serializers.DictField(
        required=False,
        default=dict,
        help_text="Scheduler hints: group, same_host, different_host, build_near_host_ip, cidr, query. Others (text, "
        "numbers, or lists of these) are carried to filters, weighers and schedulers that are plug-ins.",
    )
    scheduler_hints = serializers.DictField(required=False, help_text="The same as `hints`, by OpenStack's name.")
    key_name = serializers.CharField(required=False, allow_blank=True, default="", max_length=255)
    user_data = serializers.CharField(required=False, allow_blank=True, default="", help_text="Base64.")
    metadata = serializers.DictField(required=False, default=dict)
    tags = serializers.ListField(required=False, default=list)
    description = serializers.CharField(required=False, allow_blank=True, default="", max_length=255)

    def to_internal_value(self, data: Any) -> Any:
        """The fields' values, with the hints of both names."""
        values: dict[str, Any] = super().to_internal_value(data)
        values["hints"] = {**values["hints"], **values.pop("scheduler_hints", {})}
        return values


class InstanceActionInput(StrictInput):
    """The body of an action."""

    action = serializers.CharField(help_text=", ".join(VERBS), max_length=100)

    def get_fields(self) -> dict[str, Any]:
        """The action, and what any of them takes with it; the service says which takes what."""
        fields: dict[str, Any] = super().get_fields()
        for rule in VERBS.values():
            for one in rule.arguments:
                said = f"{one.help} Of {rule.name}."
                fields[one.name] = serializers.CharField(
                    required=False, allow_blank=True, trim_whitespace=False, max_length=10_000, help_text=said
                )
        return fields


class InstanceUpdateInput(StrictInput):
    """The body of a change; what is left out stays. Values are checked by the service, as those of a create."""

    name = serializers.CharField(required=False, trim_whitespace=False, max_length=100_000)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, max_length=10_000)
    metadata = serializers.DictField(required=False, help_text="All of it: keys that are not here go.")
    tags = serializers.ListField(required=False, help_text="All of them: tags that are not here go.")
    etag = serializers.CharField(
        required=False,
        max_length=100,
        help_text="As it was read with the instance. 409 once name, description, metadata or tags were changed since.",
    )


class MetadataItemInput(StrictInput):
    """The value of one metadata item."""

    value = serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=10_000)


class ResetStateInput(StrictInput):
    """What an instance is reset to, and why."""

    state = serializers.CharField(max_length=100, help_text="active or error")
    reason = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=10_000,
        help_text="For the journey; its owner reads it.",
    )


class FaultOutput(serializers.ModelSerializer[InstanceFault]):
    """Why it failed. `details` is for admins."""

    class Meta:
        model = InstanceFault
        fields = ["code", "message", "step", "created_at"]


class FaultAdminOutput(serializers.ModelSerializer[InstanceFault]):
    """The same with what only operators may see."""

    class Meta:
        model = InstanceFault
        fields = ["instance_uuid", "code", "message", "step", "created_at", "host", "details"]


class InstanceOutput(serializers.Serializer[Instance]):
    """One instance. `context` has `caller` and `faults` (the newest one of each instance)."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    description = serializers.CharField()
    status = serializers.SerializerMethodField()
    vm_state = serializers.CharField()
    task_state = serializers.SerializerMethodField()
    power_state = serializers.CharField()
    host = serializers.SerializerMethodField()
    availability_zone = serializers.CharField()
    flavor = serializers.SerializerMethodField()
    image = serializers.SerializerMethodField()
    addresses = serializers.JSONField()
    metadata = serializers.JSONField()
    tags = serializers.SerializerMethodField()
    etag = serializers.SerializerMethodField()
    key_name = serializers.CharField()
    project_id = serializers.UUIDField()
    user_id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    launched_at = serializers.DateTimeField(allow_null=True)
    restorable_until = serializers.SerializerMethodField()
    locked = serializers.BooleanField()
    locked_by = serializers.CharField()
    locked_reason = serializers.CharField()
    protected = serializers.BooleanField()
    fault = serializers.SerializerMethodField()
    decision = serializers.UUIDField(source="decision_id", allow_null=True)
    attempts = serializers.IntegerField()
    request_id = serializers.CharField()

    def get_status(self, instance: Instance) -> str:
        """The one status that Nova's API derives from vm_state and task_state."""
        return api_status(instance.vm_state, instance.task_state)

    def get_task_state(self, instance: Instance) -> str | None:
        """Null when nothing is being done."""
        return instance.task_state or None

    def get_host(self, instance: Instance) -> str | None:
        """Admins only, as in Nova: tenants get null."""
        return instance.host or None if self.context["caller"].is_admin else None

    def get_flavor(self, instance: Instance) -> dict[str, Any]:
        """The snapshot taken when it was created."""
        return dict(instance.flavor)

    def get_image(self, instance: Instance) -> dict[str, Any]:
        """Id and name of the image it was made from."""
        return {"id": instance.image.get("id"), "name": instance.image.get("name")}

    def get_tags(self, instance: Instance) -> list[str]:
        if instance.is_pending:
            return sorted(instance.pending_tags)
        return sorted(row.tag for row in instance.tags.all())

    def get_restorable_until(self, instance: Instance) -> datetime | None:
        """Of one that is soft-deleted: until when `restore` brings it back. Null where nothing deletes it for good."""
        return restorable_until(instance.soft_deleted_at, server_options().reclaim_instance_interval_s)

    def get_etag(self, instance: Instance) -> str:
        """Of name, description, metadata and tags: differs as soon as one of them does."""
        return instance_details(instance).etag

    def get_fault(self, instance: Instance) -> dict[str, Any] | None:
        """The newest fault, while the instance is in ERROR (Nova's rule)."""
        fault = self.context["faults"].get(instance.pk)
        if fault is None or instance.vm_state != "error":
            return None
        return dict((FaultAdminOutput if self.context["caller"].is_admin else FaultOutput)(fault).data)


class ActionEventOutput(serializers.ModelSerializer[InstanceActionEvent]):
    """One step of an action, as the owner of the instance sees it: without hosts."""

    class Meta:
        model = InstanceActionEvent
        fields = ["name", "attempt", "started_at", "finished_at", "result"]


class ActionOutput(serializers.ModelSerializer[InstanceAction]):
    """One verb and its steps."""

    events = ActionEventOutput(many=True)

    class Meta:
        model = InstanceAction
        fields = [
            "id",
            "instance_uuid",
            "action",
            "request_id",
            "user_id",
            "project_id",
            "started_at",
            "finished_at",
            "result",
            "message",
            "events",
        ]


class AttemptOutput(serializers.ModelSerializer[AttemptRecord]):
    """One host that was tried. Admins only."""

    class Meta:
        model = AttemptRecord
        fields = ["number", "host", "started_at", "finished_at", "outcome", "reason"]


class JourneyOutput(serializers.Serializer[Any]):
    """Everything that happened to an instance, oldest first."""

    actions = ActionOutput(many=True)
    attempts = serializers.SerializerMethodField()
    faults = serializers.SerializerMethodField()

    def get_attempts(self, journey: dict[str, Any]) -> list[Any]:
        """Hosts are for admins; tenants see number and outcome."""
        rows = AttemptOutput(journey["attempts"], many=True).data
        hidden = {} if self.context["caller"].is_admin else {"host": None, "reason": ""}
        return [{**row, **hidden} for row in rows]

    def get_faults(self, journey: dict[str, Any]) -> list[Any]:
        """Details are for admins."""
        output = FaultAdminOutput if self.context["caller"].is_admin else FaultOutput
        return list(output(journey["faults"], many=True).data)
