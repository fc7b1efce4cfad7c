"""Who can reach a port, on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput


class ReachabilityQuery(StrictInput):
    """What is asked."""

    protocol = serializers.CharField(required=False, default="tcp", help_text="A name or a number.")
    port = serializers.IntegerField(required=False, help_text="Destination port; of ICMP the type.")

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's."""
        source = serializers.CharField(
            required=False,
            default="outside",
            help_text="Id of a port or an instance, an address, a range, or `outside`.",
        )
        return {"from": source, **super().get_fields()}


class ReachabilityStep(serializers.Serializer[Any]):
    """One link of the chain."""

    is_open = serializers.BooleanField()
    message = serializers.CharField()
    remedy = serializers.CharField(help_text="What would open it; empty where it is open or nothing is known.")


class ReachabilityOutput(serializers.Serializer[Any]):
    """Whether all of the source reaches it, and why."""

    is_reachable = serializers.BooleanField()
    address = serializers.CharField(help_text="Where it is reached; empty where there is no such address.")
    summary = serializers.CharField()
    steps = ReachabilityStep(many=True)
    partly = serializers.ListField(
        child=serializers.CharField(), help_text="Rules that let in some of the source only."
    )
