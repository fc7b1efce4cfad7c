"""Interfaces of an instance on the wire."""

from rest_framework import serializers

from controlplane.infra.api.lean_output import LeanOutput
from controlplane.infra.api.strict import StrictInput
from servers.instances.selectors.interfaces import FIXED, FLOATING, Interface, InterfaceAddress


class InterfaceAddressOutput(LeanOutput[InterfaceAddress]):
    """One address."""

    address = serializers.CharField()
    version = serializers.IntegerField(help_text="4 or 6.")
    type = serializers.ChoiceField(choices=[FIXED, FLOATING], source="kind")


class InterfaceOutput(LeanOutput[Interface]):
    """One interface."""

    port_id = serializers.UUIDField()
    network_id = serializers.UUIDField(allow_null=True)
    network = serializers.CharField(help_text="The network's name.")
    mac = serializers.CharField()
    tag = serializers.CharField()
    status = serializers.CharField(help_text="DOWN, BUILD, ACTIVE or ERROR.")
    vnic_type = serializers.CharField()
    is_of_instance = serializers.BooleanField(help_text="Its port goes with the interface; else the port stays.")
    addresses = InterfaceAddressOutput(many=True)


class InterfaceInput(StrictInput):
    """An interface to be added. Values are checked by the service."""

    network = serializers.CharField(required=False, allow_blank=True, default="", max_length=255, help_text="Id, name.")
    port = serializers.CharField(required=False, allow_blank=True, default="", max_length=255, help_text="Id, name.")
    fixed_ip = serializers.CharField(required=False, allow_blank=True, default="", max_length=60)
    tag = serializers.CharField(required=False, allow_blank=True, default="", max_length=255)
    security_groups = serializers.ListField(
        required=False,
        default=list,
        child=serializers.CharField(max_length=255),
        help_text="Ids or names, for a port that is made; the default group where none is named.",
    )
