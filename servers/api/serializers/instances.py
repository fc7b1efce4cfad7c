"""An instance on the wire, and what may be sent to make one."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.infra.api.lean_output import LeanOutput
from controlplane.infra.api.strict import StrictInput
from scheduling.fleet.selectors.liveness import HostStatus
from servers.api.serializers.block_devices import BlockDeviceOutput
from servers.api.serializers.interfaces import InterfaceOutput
from servers.conf import server_options
from servers.images.domain.boot_files import root_device_name
from servers.instances.actions.rule import Argument, ArgumentKind
from servers.instances.actions.table import VERBS
from servers.instances.domain.action_offers import ActionOffer
from servers.instances.domain.silence_words import silence_notice, waits_notice
from servers.instances.domain.soft_delete import ends_at
from servers.instances.domain.state_reasons import shows_fault
from servers.instances.selectors.instances import instance_details
from servers.instances.selectors.interfaces import addresses_by_network
from servers.models import AttemptRecord, Instance, InstanceAction, InstanceActionEvent, InstanceFault
from servers.states import api_status


class InstanceActionInput(StrictInput):
    """The body of an action."""

    action = serializers.CharField(help_text=", ".join(VERBS), max_length=100)

    def get_fields(self) -> dict[str, Any]:
        """The action, and what any of them takes with it; the service says which takes what."""
        fields: dict[str, Any] = super().get_fields()
        for rule in VERBS.values():
            for one in rule.arguments:
                said = f"{one.help} Of {rule.name}."
                if one.kind is ArgumentKind.NUMBER:
                    fields[one.name] = serializers.IntegerField(required=False, help_text=said)
                    continue
                fields[one.name] = serializers.CharField(
                    required=False,
                    allow_blank=True,
                    trim_whitespace=False,
                    max_length=10_000,
                    help_text=said,
                    write_only=one.is_secret,
                )
        return fields

    def validate(self, attrs: dict[str, Any]) -> dict[str, str]:
        """Arguments are text, as rows of work keep them."""
        return {name: str(value) for name, value in attrs.items()}


class ActionArgumentOutput(serializers.Serializer[Argument]):
    """What comes with an action."""

    name = serializers.CharField()
    help = serializers.CharField()
    kind = serializers.ChoiceField(choices=[*ArgumentKind])
    is_required = serializers.BooleanField()
    max_length = serializers.IntegerField()
    min_value = serializers.IntegerField(help_text="Of a number.")
    max_value = serializers.IntegerField(help_text="Of a number.")
    choices = serializers.ListField(child=serializers.CharField(), help_text="Of a choice.")


class ActionOfferOutput(serializers.Serializer[ActionOffer]):
    """One action that the caller's role lets him do, and why not now."""

    name = serializers.CharField(source="rule.name")
    title = serializers.CharField(source="rule.title")
    help = serializers.CharField(source="rule.help")
    loss = serializers.CharField(source="rule.loss", help_text="What is lost by it; empty where nothing is.")
    group = serializers.CharField(source="rule.group")
    is_verb = serializers.BooleanField(source="rule.is_verb", help_text="Whether it is asked for by POST here.")
    refusal = serializers.CharField(help_text="Why it may not begin now; empty when it may.")
    arguments = ActionArgumentOutput(source="rule.arguments", many=True)


class InstanceUpdateInput(StrictInput):
    """The body of a change; what is left out stays. Values are checked by the service, as those of a create."""

    name = serializers.CharField(required=False, trim_whitespace=False, max_length=100_000)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, max_length=10_000)
    metadata = serializers.DictField(required=False, help_text="All of it: keys that are not here go.")
    tags = serializers.ListField(required=False, help_text="All of them: tags that are not here go.")
    access_ip_v4 = serializers.CharField(required=False, allow_blank=True, max_length=100, help_text="Empty: none.")
    access_ip_v6 = serializers.CharField(required=False, allow_blank=True, max_length=100, help_text="Empty: none.")
    hostname = serializers.CharField(
        required=False,
        max_length=1_000,
        help_text="Its guest is told by the metadata service and DHCP, and by its config drive once it is rebuilt.",
    )
    disk_config = serializers.CharField(
        required=False, max_length=100, help_text="AUTO or MANUAL: who sizes the root partition from a rebuild on."
    )
    etag = serializers.CharField(
        required=False,
        max_length=100,
        help_text="As it was read with the instance. 409 once one of these fields was changed since.",
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


class InstanceOutput(LeanOutput[Instance]):
    """One instance. `context` has `caller`, `faults` (the newest one of each instance), `interfaces`, `disks`, and
    `hosts`: how the hosts are, by name.
    """

    id = serializers.UUIDField()
    name = serializers.CharField()
    description = serializers.CharField()
    status = serializers.SerializerMethodField()
    vm_state = serializers.CharField()
    task_state = serializers.SerializerMethodField()
    power_state = serializers.CharField()
    power_reason = serializers.CharField(
        help_text="Why, where the guest got into its power state by itself: crashed, panicked, io_error, watchdog."
    )
    power_details = serializers.CharField()
    on_crash = serializers.CharField(help_text="stop or restart; empty: as the installation is set.")
    host = serializers.SerializerMethodField()
    host_status = serializers.SerializerMethodField()
    host_notice = serializers.SerializerMethodField()
    availability_zone = serializers.CharField()
    flavor = serializers.SerializerMethodField()
    image = serializers.SerializerMethodField()
    addresses = serializers.SerializerMethodField()
    interfaces = serializers.SerializerMethodField()
    block_devices = serializers.SerializerMethodField()
    metadata = serializers.JSONField()
    tags = serializers.SerializerMethodField()
    etag = serializers.SerializerMethodField()
    key_name = serializers.CharField()
    hostname = serializers.CharField()
    access_ip_v4 = serializers.CharField()
    access_ip_v6 = serializers.CharField()
    config_drive = serializers.BooleanField()
    disk_config = serializers.CharField()
    trusted_image_certificates = serializers.JSONField()
    root_device_name = serializers.SerializerMethodField()
    kernel_id = serializers.SerializerMethodField()
    ramdisk_id = serializers.SerializerMethodField()
    reservation_id = serializers.UUIDField(allow_null=True)
    launch_index = serializers.IntegerField()
    project_id = serializers.UUIDField()
    user_id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    launched_at = serializers.DateTimeField(allow_null=True)
    restorable_until = serializers.SerializerMethodField()
    rescued_until = serializers.SerializerMethodField()
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
        return instance.host or None if self.context["caller"].sees_all else None

    @extend_schema_field(serializers.ChoiceField(choices=[*HostStatus, ""], allow_null=True))
    def get_host_status(self, instance: Instance) -> str | None:
        """Admins only, by Nova's rule: DOWN (forced down), MAINTENANCE (disabled), UP, UNKNOWN; empty on no host."""
        if not self.context["caller"].sees_all:
            return None
        found = self.context["hosts"].get(instance.host)
        return found.status.value if found else HostStatus.UNKNOWN.value if instance.host else ""

    def get_host_notice(self, instance: Instance) -> str:
        """That its host does not report, and what was known last; empty while it does. It names no host."""
        found = self.context["hosts"].get(instance.host)
        return str(silence_notice(found.silence if found else None, instance.power_state))

    def get_flavor(self, instance: Instance) -> dict[str, Any]:
        """The snapshot taken when it was created."""
        return dict(instance.flavor)

    def get_image(self, instance: Instance) -> dict[str, Any]:
        """Id and name of the image it was made from."""
        return {"id": instance.image.get("id"), "name": instance.image.get("name")}

    def get_root_device_name(self, instance: Instance) -> str:
        """What the root disk is called in the guest."""
        for disk in self.context["disks"].get(instance.pk, ()):
            if disk.is_root:
                return f"/dev/{disk.device}"
        return root_device_name(instance.image.get("properties", {}))

    def get_kernel_id(self, instance: Instance) -> str | None:
        """The image of the kernel that it starts; null for one that boots from its disk."""
        return (instance.image.get("kernel") or {}).get("id")

    def get_ramdisk_id(self, instance: Instance) -> str | None:
        """The image of its initial RAM disk, if it has one."""
        return (instance.image.get("ramdisk") or {}).get("id")

    def get_addresses(self, instance: Instance) -> dict[str, list[str]]:
        """Fixed and floating, by the network's name."""
        return addresses_by_network(instance, self.context["interfaces"].get(instance.pk, ()))

    @extend_schema_field(InterfaceOutput(many=True))
    def get_interfaces(self, instance: Instance) -> list[Any]:
        """Its cards in their order, with the type of each address."""
        return InterfaceOutput.shown(self.context["interfaces"].get(instance.pk, ()))

    @extend_schema_field(BlockDeviceOutput(many=True))
    def get_block_devices(self, instance: Instance) -> list[Any]:
        """Its disks, where they were named one by one; empty for the disks of flavor and image."""
        return BlockDeviceOutput.shown(self.context["disks"].get(instance.pk, ()))

    def get_tags(self, instance: Instance) -> list[str]:
        return list(instance_details(instance).tags)

    def get_restorable_until(self, instance: Instance) -> datetime | None:
        """Of one that is soft-deleted: until when `restore` brings it back. Null where nothing deletes it for good."""
        return ends_at(instance.soft_deleted_at, server_options().reclaim_instance_interval_s)

    def get_rescued_until(self, instance: Instance) -> datetime | None:
        """Of one that is rescued: when that ends by itself (RESCUE_TIMEOUT_S). Null where it does not."""
        return ends_at(instance.rescued_at, server_options().rescue_timeout_s)

    def get_etag(self, instance: Instance) -> str:
        """Of what its owner may change of the record: differs as soon as one of these fields does."""
        return instance_details(instance).etag

    def get_fault(self, instance: Instance) -> dict[str, Any] | None:
        """The newest fault, while the instance is in ERROR (Nova's rule), or since its guest crashed."""
        fault = self.context["faults"].get(instance.pk)
        if fault is None or not shows_fault(instance):
            return None
        return dict((FaultAdminOutput if self.context["caller"].sees_all else FaultOutput)(fault).data)


class InstanceActedOutput(InstanceOutput):
    """An instance that an action was begun for."""

    made_image_id = serializers.UUIDField(
        read_only=True, allow_null=True, help_text="The image that the action makes; null for one that makes none."
    )


class ActionEventOutput(serializers.ModelSerializer[InstanceActionEvent]):
    """One step of an action, as the owner of the instance sees it: without hosts."""

    class Meta:
        model = InstanceActionEvent
        fields = ["name", "attempt", "started_at", "finished_at", "result", "done_bytes", "total_bytes"]


class ActionOutput(serializers.ModelSerializer[InstanceAction]):
    """One verb and its steps."""

    events = ActionEventOutput(many=True)
    waits_for = serializers.SerializerMethodField(
        help_text="Why an action that has not ended goes no further: its host does not report. Else empty."
    )

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
            "waits_for",
            "events",
        ]

    def get_waits_for(self, action: InstanceAction) -> str:
        """It names no host."""
        return "" if action.finished_at else str(waits_notice(self.context["silence"]))


class AttemptOutput(serializers.ModelSerializer[AttemptRecord]):
    """One host that was tried. Admins only."""

    class Meta:
        model = AttemptRecord
        fields = ["number", "host", "started_at", "finished_at", "outcome", "reason"]


class JourneyOutput(serializers.Serializer[Any]):
    """Everything that happened to an instance, oldest first. `context` has `caller`, and `silence` of its host."""

    actions = ActionOutput(many=True)
    attempts = serializers.SerializerMethodField()
    faults = serializers.SerializerMethodField()

    def get_attempts(self, journey: dict[str, Any]) -> list[Any]:
        """Hosts are for admins; tenants see number and outcome."""
        rows = AttemptOutput(journey["attempts"], many=True).data
        hidden = {} if self.context["caller"].sees_all else {"host": None, "reason": ""}
        return [{**row, **hidden} for row in rows]

    def get_faults(self, journey: dict[str, Any]) -> list[Any]:
        """Details are for admins."""
        output = FaultAdminOutput if self.context["caller"].sees_all else FaultOutput
        return list(output(journey["faults"], many=True).data)
