"""The bodies of a rebuild and of a rescue. Values are checked by the service, as those of a create."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput


def admin_pass_is_one(asked: Mapping[str, Any]) -> None:
    """A password is either given or made. Raises ValidationError."""
    if asked.get("admin_pass") and asked.get("generate_admin_pass"):
        raise serializers.ValidationError({"generate_admin_pass": ["There is an admin_pass already."]})


class AdminPasswordInput(StrictInput):
    """A password that a config drive brings to the system that boots next."""

    admin_pass = serializers.CharField(
        required=False,
        trim_whitespace=False,
        max_length=10_000,
        write_only=True,
        help_text="The administrator's password, which the guest finds on its config drive. Forgotten when it runs.",
    )
    generate_admin_pass = serializers.BooleanField(
        required=False, help_text="Make a random admin_pass; the answer has it, this one time."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A password is either given or made."""
        admin_pass_is_one(attrs)
        return attrs


class RebuildInput(AdminPasswordInput):
    """What a rebuild changes; what is left out stays as it is."""

    image = serializers.CharField(required=False, max_length=255, help_text="Id or name. Default: the one it has.")
    name = serializers.CharField(required=False, trim_whitespace=False, max_length=100_000)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, max_length=10_000)
    metadata = serializers.DictField(required=False, help_text="All of it: keys that are not here go.")
    user_data = serializers.CharField(required=False, allow_blank=True, help_text="Base64. Empty: none.")
    key_name = serializers.CharField(
        required=False, allow_blank=True, max_length=255, help_text="One of the caller's key pairs. Empty: none."
    )
    preserve_ephemeral = serializers.BooleanField(
        required=False, help_text="Only no: a rebuild replaces the ephemeral disk too."
    )
    reimage_boot_volume = serializers.BooleanField(
        required=False,
        help_text="Of an instance that boots from a volume: that volume is made anew of the image, all on it is lost.",
    )
    personality = serializers.ListField(
        required=False,
        write_only=True,
        help_text="Files on the config drive for what configures the guest: objects with path and contents (base64).",
    )
    hostname = serializers.CharField(required=False, max_length=1000, help_text="What the guest is called from now on.")
    access_ip_v4 = serializers.CharField(required=False, allow_blank=True, max_length=100)
    access_ip_v6 = serializers.CharField(required=False, allow_blank=True, max_length=100)
    disk_config = serializers.ChoiceField(
        required=False,
        choices=["AUTO", "MANUAL"],
        help_text="Whether the guest grows its root partition to its disk. Default: as its image does.",
    )
    trusted_image_certificates = serializers.ListField(
        required=False,
        help_text="In place of those that there are: the image must be signed by one of them. Empty: none.",
    )


class RescueInput(AdminPasswordInput):
    """The image to boot from, and the password of the system that it has."""

    image = serializers.CharField(required=False, max_length=255, help_text="Id or name. Default: the one it has.")
