"""What may be sent to make instances."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.api.serializers.rescue import admin_pass_is_one


class InstanceInput(StrictInput):
    """The body of a create. Values are checked by the service, so that every door has the same rules."""

    name = serializers.CharField(trim_whitespace=False, max_length=100_000)
    flavor = serializers.CharField(help_text="Id or name.", max_length=255)
    image = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=255,
        help_text="Id or name. May be left out where a volume of block_device_mapping_v2 has boot_index 0.",
    )
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
    protected = serializers.BooleanField(
        required=False, default=False, help_text="Nobody deletes it until it is unprotected."
    )
    hostname = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=1000,
        help_text="What the guest calls itself, with or without a domain. Made from the name if empty; of one instance "
        "only.",
    )
    access_ip_v4 = serializers.CharField(required=False, allow_blank=True, default="", max_length=100)
    access_ip_v6 = serializers.CharField(required=False, allow_blank=True, default="", max_length=100)
    config_drive = serializers.BooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Each instance has one unless this is false, which is refused where anything needs it.",
    )
    disk_config = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=40,
        help_text="AUTO: the guest grows its root partition to its disk; MANUAL: it does not; empty: as its image "
        "does.",
    )
    trusted_image_certificates = serializers.ListField(
        required=False,
        default=list,
        help_text="Ids of certificates: the image must be signed by one of them, or by one that they signed.",
    )
    admin_pass = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        default="",
        max_length=10_000,
        write_only=True,
        help_text="The administrator's password, which the guest finds on its config drive. Forgotten when it runs.",
    )
    generate_admin_pass = serializers.BooleanField(
        required=False, default=False, help_text="Make a random admin_pass; the answer has it, this one time."
    )
    personality = serializers.ListField(
        required=False,
        default=list,
        write_only=True,
        help_text="Files on the config drive for what configures the guest: objects with path and contents (base64).",
    )
    networks = serializers.JSONField(
        required=False,
        default=None,
        help_text="The interfaces, in their order: objects with a `network` (id or name), with or without a `fixed_ip` "
        "of it, or with a `port` (id or name), and with or without a `tag`. `none`: no interface. `auto` or nothing: "
        "the default network, or the only one that the project may use.",
    )
    block_device_mapping_v2 = serializers.JSONField(
        required=False,
        default=None,
        help_text="The disks: objects with `source_type` (image, volume, snapshot, blank), `destination_type` (local, "
        "volume), `uuid`, `boot_index` (0: the root disk), `volume_size` (GiB; MiB of swap), `volume_type`, "
        "`delete_on_termination`, `disk_bus`, `device_type`, `device_name`, `guest_format` (swap, ext4), `tag`.",
    )
    security_groups = serializers.ListField(
        required=False,
        default=list,
        child=serializers.CharField(max_length=255),
        help_text="Ids or names, for the ports that are made; the default group where none is named.",
    )
    host = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=255,
        help_text="Admins: the one host that comes into question, subject to all filters.",
    )
    hypervisor_hostname = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=255, help_text="Admins: the same by the node's name."
    )
    return_reservation_id = serializers.BooleanField(
        required=False, default=False, help_text="Answer with nothing but the reservation_id of the batch."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A password is either given or made."""
        admin_pass_is_one(attrs)
        return attrs

    def to_internal_value(self, data: Any) -> Any:
        """The fields' values, with the hints of both names."""
        values: dict[str, Any] = super().to_internal_value(data)
        values["hints"] = {**values["hints"], **values.pop("scheduler_hints", {})}
        return values
