"""Console sessions under /api/: asked for, listed, ended."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from computeagent.protocol.consoles import BROWSER_CONSOLE_PATH, ConsoleKind
from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.consoles import ConsoleAccessOutput, ConsoleInput, ConsoleSessionOutput
from servers.consoles.selectors import READ_POLICY, console_session_get, console_sessions_visible
from servers.consoles.services import console_session_create, console_session_end
from servers.filtersets_instance import ConsoleSessionFilterSet
from servers.models import ConsoleSession


class InstanceConsolesView(APIView):
    """The consoles of one instance."""

    policy = {"post": READ_POLICY}  # typing needs more, which the service asks for

    @extend_schema(request=ConsoleInput, responses={201: ConsoleAccessOutput})
    def post(self, request: Request, pk: str) -> Response:
        """A session and what opens it, once and within CONSOLE_TOKEN_S seconds. 409 for a guest that is off."""
        given = ConsoleInput(data=request.data)
        given.is_valid(raise_exception=True)
        access = console_session_create(
            caller=caller_of(request),
            instance_id=uuid_in_path(pk, what="Instance"),
            kind=ConsoleKind(given.validated_data["kind"]),
            is_read_only=given.validated_data["is_read_only"],
        )
        kind, view = access.session.kind, "?view=1" if access.session.is_read_only else ""
        page = request.build_absolute_uri(f"/consoles/{kind}/{view}")
        body = {
            "id": access.session.pk,
            "url": f"{page}#token={access.token}",
            "stream": "ws" + request.build_absolute_uri(BROWSER_CONSOLE_PATH).removeprefix("http"),
            "token": access.token,
            "expires_at": access.expires_at,
        }
        answer = Response(ConsoleAccessOutput(body).data, status=status.HTTP_201_CREATED)
        answer["Cache-Control"] = "no-store"
        return answer


class ConsoleSessionViewSet(mixins.ListModelMixin, GenericViewSet[ConsoleSession]):
    """Sessions that were opened: of the caller's project; for administrators all."""

    policy = {"list": READ_POLICY, "retrieve": READ_POLICY, "destroy": READ_POLICY}
    queryset = ConsoleSession.objects.none()
    serializer_class = ConsoleSessionOutput
    filterset_class = ConsoleSessionFilterSet
    ordering_fields = ["created_at"]

    def get_serializer_context(self) -> dict[str, Any]:
        """Some fields are for administrators."""
        return {**super().get_serializer_context(), "caller": caller_of(self.request)}

    def get_queryset(self) -> QuerySet[ConsoleSession]:
        """The newest first."""
        return console_sessions_visible(caller=caller_of(self.request))

    def retrieve(self, request: Request, pk: str) -> Response:
        """One of them."""
        found = console_session_get(caller=caller_of(request), session_id=uuid_in_path(pk, what="Console session"))
        return Response(self.get_serializer(found).data)

    def destroy(self, request: Request, pk: str) -> Response:
        """End it: its own user may, and an administrator. It is cut within seconds, and stays listed."""
        session_id = uuid_in_path(pk, what="Console session")
        ended = console_session_end(caller=caller_of(request), session_id=session_id)
        return Response(self.get_serializer(ended).data)
