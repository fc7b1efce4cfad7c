"""The settings under /api/, to read. Here because they are of all apps, and no app of ours knows all others."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.settings.sources import settings_shown


class SettingOutput(serializers.Serializer[Any]):
    """One setting as this web process has it. Of a secret only whether there is one: its value is `hidden` or empty."""

    name = serializers.CharField()
    group = serializers.CharField()
    meaning = serializers.CharField()
    kind = serializers.CharField()
    value = serializers.CharField()
    default = serializers.CharField()
    source = serializers.CharField(  # type: ignore[assignment]  # the wire's name
        help_text="default, environment, file or program."
    )
    place = serializers.CharField(help_text="The file that it comes from.")
    remark = serializers.CharField()
    is_secret = serializers.BooleanField()


class SettingsView(APIView):
    """All settings with where they come from."""

    policy = {"get": "settings:read"}

    @extend_schema(operation_id="settings", responses=SettingOutput(many=True))
    def get(self, _request: Request) -> Response:
        """In the order of the document of settings."""
        return Response(SettingOutput(settings_shown(), many=True).data)
