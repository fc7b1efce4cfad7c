"""How far a host is with its networks, on the wire."""

from typing import Any

from rest_framework import serializers


class NetworkProblemOutput(serializers.Serializer[Any]):
    """What a host could not do of its networks. It tries again by itself."""

    kind = serializers.CharField(help_text="port, network, router or host.")
    id = serializers.CharField(help_text="Of the thing; empty for the host as a whole.")
    message = serializers.CharField()


class HostNetworksOutput(serializers.Serializer[Any]):
    """Revisions grow with each change that concerns the host; it is behind while the applied one is the smaller."""

    host = serializers.CharField()
    wanted_revision = serializers.IntegerField()
    applied_revision = serializers.IntegerField()
    applied_at = serializers.DateTimeField(allow_null=True, help_text="When it reported something new last.")
    problems = NetworkProblemOutput(many=True)
