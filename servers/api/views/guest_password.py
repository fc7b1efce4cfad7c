"""The password that a guest told its metadata service."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.watching import GuestPasswordOutput
from servers.instances.services.guest_password import guest_password_clear, guest_password_read


class InstanceGuestPassword:
    """Actions of `InstanceViewSet`."""

    policy = {
        "guest_password": "instances:guest_password",
        "guest_password_clear": "instances:guest_password:clear",
    }

    @extend_schema(responses=GuestPasswordOutput)
    @action(detail=True, methods=["get"], url_path="guest-password")
    def guest_password(self, request: Request, pk: str) -> Response:
        """As the guest told it: as a rule encrypted for its SSH key, and in base64. Empty where it told none."""
        instance_id = uuid_in_path(pk, what="Instance")
        password = guest_password_read(caller=caller_of(request), instance_id=instance_id)
        return Response({"password": password}, headers={"Cache-Control": "private, no-store"})

    @extend_schema(request=None, responses={204: None})
    @guest_password.mapping.delete
    def guest_password_clear(self, request: Request, pk: str) -> Response:
        """Forgets it, so that the guest may tell another one."""
        guest_password_clear(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"))
        return Response(status=status.HTTP_204_NO_CONTENT)
