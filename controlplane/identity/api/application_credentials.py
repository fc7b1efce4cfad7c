"""The caller's own application credentials."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.identity.api.serializers import ProjectName
from controlplane.identity.domain import Role
from controlplane.identity.domain.application_credential import roles_of_text
from controlplane.identity.models import ApplicationCredential
from controlplane.identity.selectors.application_credentials import application_credentials_of
from controlplane.identity.services import application_credential_create, application_credential_delete
from controlplane.infra.api.strict import StrictInput


class ApplicationCredentialInput(StrictInput):
    """A new one, for the project of the call. `roles`: none named means the caller's; `secret`: one is made unless it
    is there.
    """

    name = serializers.CharField(max_length=255)
    description = serializers.CharField(required=False, allow_blank=True, max_length=255)
    roles = serializers.ListField(
        child=serializers.ChoiceField(choices=[role.value for role in Role]), required=False, max_length=16
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True)
    unrestricted = serializers.BooleanField(required=False)
    secret = serializers.CharField(required=False, allow_null=True, max_length=255, trim_whitespace=False)

    def validate_roles(self, value: list[str]) -> list[Role]:
        """As the service takes them."""
        return [Role(name) for name in value]


class ApplicationCredentialBody(serializers.ModelSerializer[ApplicationCredential]):
    """One of them, without its secret."""

    project = ProjectName(read_only=True)
    roles = serializers.SerializerMethodField()

    class Meta:
        model = ApplicationCredential
        fields = ["id", "name", "description", "project", "roles", "expires_at", "unrestricted", "created_at"]

    def get_roles(self, row: ApplicationCredential) -> list[str]:
        """The least powerful first."""
        return [role.value for role in sorted(roles_of_text(row.roles))]


class IssuedCredentialBody(ApplicationCredentialBody):
    """One that was just made: with the secret, which is shown once."""

    secret = serializers.CharField(read_only=True)

    class Meta(ApplicationCredentialBody.Meta):
        fields = [*ApplicationCredentialBody.Meta.fields, "secret"]


class ApplicationCredentialViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[ApplicationCredential]
):
    """What the caller's programs log in with: list, show, make, delete."""

    policy: ClassVar[dict[str, str]] = dict.fromkeys(
        ("list", "retrieve"), "application_credentials:read"
    ) | dict.fromkeys(("create", "destroy"), "application_credentials:write")
    queryset = ApplicationCredential.objects.none()
    serializer_class = ApplicationCredentialBody
    ordering_fields: ClassVar[list[str]] = ["name", "created_at", "expires_at"]
    lookup_value_regex = "[0-9a-fA-F-]{32,36}"

    def get_queryset(self) -> QuerySet[ApplicationCredential]:
        """The caller's, of all projects."""
        if getattr(self, "swagger_fake_view", False):
            return ApplicationCredential.objects.none()
        return application_credentials_of(user_id=caller_of(self.request).user_id)

    @extend_schema(request=ApplicationCredentialInput, responses={201: IssuedCredentialBody})
    def create(self, request: Request) -> Response:
        """Make one. The answer has its secret, and nothing has it later."""
        body = ApplicationCredentialInput(data=request.data)
        body.is_valid(raise_exception=True)
        issued = application_credential_create(caller=caller_of(request), **body.validated_data)
        document: dict[str, Any] = {**ApplicationCredentialBody(issued.row).data, "secret": issued.secret}
        return Response(document, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """It ends now, and its tokens with it."""
        caller = caller_of(request)
        application_credential_delete(caller=caller, user_id=caller.user_id, credential_id=self.get_object().pk)
        return Response(status=status.HTTP_204_NO_CONTENT)
