"""Bodies of the enrolment and the secrets of agents."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.agent_api.credentials import refusal_words
from servers.models import AgentCredential


class EnrolmentInput(StrictInput):
    """Which host is to be enrolled."""

    host = serializers.CharField(max_length=92)


class EnrolmentOutput(serializers.Serializer[Any]):
    """The token, told this once, and the command that uses it."""

    host = serializers.CharField()
    token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    command = serializers.CharField(help_text="To be run on the hypervisor.")


class AgentOutput(serializers.ModelSerializer[AgentCredential]):
    """The secret of a host's agent: never itself, only what became of it."""

    enrolled_at = serializers.DateTimeField(allow_null=True, help_text="Null: a token was made, and not used.")
    refusal = serializers.SerializerMethodField(help_text="Why the agent is locked out; empty: it is not.")

    class Meta:
        model = AgentCredential
        fields = [
            *("host", "enrolled_at", "rotated_at", "revoked_at", "revoked_by_id"),
            *("refusal", "refused_version", "refused_at"),
        ]

    def get_refusal(self, credential: AgentCredential) -> str:
        """For people."""
        return refusal_words(credential)
