"""Key pairs of the caller, addressed by name."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from servers.api.serializers.catalog import GeneratedKeyPairOutput, KeyPairInput, KeyPairOutput
from servers.catalog.selectors.keypair import keypair_get, keypairs_of
from servers.catalog.services.keypair import keypair_create, keypair_delete, keypair_generate
from servers.filtersets import KeyPairFilterSet
from servers.models import KeyPair


class KeyPairViewSet(ReadOnlyModelViewSet[KeyPair]):
    """Public keys that go into new instances."""

    policy = {
        "list": "keypairs:read",
        "retrieve": "keypairs:read",
        "create": "keypairs:write",
        "destroy": "keypairs:write",
    }
    queryset = KeyPair.objects.none()
    serializer_class = KeyPairOutput
    filterset_class = KeyPairFilterSet
    ordering_fields = ["name", "created_at"]
    lookup_field = "name"
    lookup_value_regex = "[^/]+"

    def get_queryset(self) -> QuerySet[KeyPair]:
        """The caller's own, whatever the role."""
        return keypairs_of(user_id=caller_of(self.request).user_id)

    def get_object(self) -> KeyPair:
        """The one that the address names."""
        return keypair_get(user_id=caller_of(self.request).user_id, name=self.kwargs["name"])

    @extend_schema(request=KeyPairInput, responses={201: GeneratedKeyPairOutput})
    def create(self, request: Request) -> Response:
        """Keeps a public key, or makes a pair and answers its private half this once."""
        body = KeyPairInput(data=request.data)
        body.is_valid(raise_exception=True)
        name, caller = body.validated_data["name"], caller_of(request)
        of: dict[str, Any] = {"user_id": caller.user_id, "project_id": caller.project_id}
        if "public_key" in body.validated_data:
            keypair = keypair_create(name=name, public_key=body.validated_data["public_key"], **of)
            return Response(KeyPairOutput(keypair).data, status=status.HTTP_201_CREATED)
        made = keypair_generate(name=name, **of)
        shown = {**KeyPairOutput(made.keypair).data, "private_key": made.private_key}
        return Response(shown, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})

    def destroy(self, request: Request, name: str) -> Response:
        """Delete a key pair. Instances made with it keep the key."""
        keypair_delete(user_id=caller_of(request).user_id, name=name)
        return Response(status=status.HTTP_204_NO_CONTENT)
