"""Bodies of console sessions."""

from typing import Any

from rest_framework import serializers

from computeagent.protocol.consoles import ConsoleKind
from controlplane.infra.api.strict import StrictInput
from servers.models import ConsoleSession


class ConsoleInput(StrictInput):
    """Which console is to be opened."""

    kind = serializers.ChoiceField(choices=[(kind.value, kind.value) for kind in ConsoleKind])
    is_read_only = serializers.BooleanField(default=False, help_text="Only looks; of the kind vnc.")


class ConsoleAccessOutput(serializers.Serializer[Any]):
    """What opens the console, once. `url` is for a browser; programs open a WebSocket at `stream` with the subprotocols
    `binary` and `kilonova.token.` followed by the token.
    """

    id = serializers.UUIDField()
    url = serializers.CharField()
    stream = serializers.CharField()
    token = serializers.CharField(help_text="Said this once.")
    expires_at = serializers.DateTimeField()


class ConsoleSessionOutput(serializers.ModelSerializer[ConsoleSession]):
    """Who looked at which guest, from where, since when, and why it ended."""

    username = serializers.CharField(source="user.username")
    host_error = serializers.SerializerMethodField(help_text="Why the host could not open it. Shown to admins only.")

    class Meta:
        model = ConsoleSession
        fields = [
            *("id", "instance_uuid", "instance_name", "project_id", "user_id", "username", "kind", "is_read_only"),
            *("client_address", "opened_at", "connected_at", "ended_at", "ended_because", "host_error"),
        ]

    def get_host_error(self, session: ConsoleSession) -> str | None:
        """Words of the hypervisor may name what is on the host."""
        return session.host_error if self.context["caller"].sees_all else None
