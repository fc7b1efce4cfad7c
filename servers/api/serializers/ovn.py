"""How far OVN is, as the API shows it to administrators."""

from typing import Any

from rest_framework import serializers

from servers.models import OvnChange


class OvnStatusOutput(serializers.Serializer[Any]):
    """The connection to OVN, what the last comparison found, and what OVN does not have yet."""

    northbound = serializers.CharField(help_text="Address of its northbound database; empty: OVN is not used.")
    networks = serializers.IntegerField(help_text="How many networks are of kind ovn.")
    is_connected = serializers.BooleanField(help_text="Whether a conductor reaches it.")
    problem = serializers.CharField(help_text="Why it does not.")
    owner = serializers.CharField(help_text="The process that tells OVN.")
    since = serializers.DateTimeField(allow_null=True, help_text="When the connection came to be, or was lost.")
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When all was compared last.")
    took_s = serializers.FloatField()
    rows = serializers.IntegerField(help_text="Rows that were wanted then.")
    differed = serializers.IntegerField(help_text="Those that were not as they should be, and were put right.")
    differences = serializers.ListField(child=serializers.CharField(), help_text="Sentences about the first of them.")
    waiting = serializers.IntegerField(help_text="Changes that OVN does not have yet.")
    oldest_at = serializers.DateTimeField(allow_null=True, help_text="When the oldest of them was made.")
    refused = serializers.IntegerField(help_text="How many of them OVN has refused; they are tried again.")


class OvnChangeOutput(serializers.ModelSerializer[OvnChange]):
    """Something that OVN does not have yet. `problem`: why it refused it."""

    class Meta:
        model = OvnChange
        fields = ["id", "subject", "subject_id", "noted_at", "attempts", "retry_at", "problem"]
