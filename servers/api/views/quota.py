"""Quotas: of the caller's project, of single users in a project, and the class that all projects fall back to."""

import uuid
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from controlplane.identity.domain.quota import DEFAULT_CLASS
from controlplane.identity.selectors import project_get, quota_defaults, quota_limits
from controlplane.identity.services import quota_class_reset, quota_class_set, user_quota_reset
from controlplane.kernel.errors import NotFound
from servers.api.serializers.catalog import (
    AmountsOutput,
    QuotaClassInput,
    QuotaOutput,
    UserQuotaInput,
    UserQuotaOutput,
)
from servers.catalog.selectors.quota import image_quota_usage, owner_quota_usage, quota_usage, user_quota_shown
from servers.catalog.services.quota import user_quota_limit
from servers.networks.selectors.quota import network_quota_usage
from servers.volumes.selectors.quota import volume_quota_usage


class QuotaView(APIView):
    """Limits and what is in use. A limit of -1 means unlimited."""

    policy = {"get": "quotas:read"}

    @extend_schema(responses=QuotaOutput)
    def get(self, request: Request) -> Response:
        """The project's limits and what it uses, counted now, and the same of the caller in it."""
        caller = caller_of(request)
        project_id = caller.project_id
        of_caller = _used_by(project_id, caller.user_id)
        used, images = quota_usage(project_id=project_id), image_quota_usage(project_id=project_id)
        networks, volumes = network_quota_usage(project_id=project_id), volume_quota_usage(project_id=project_id)
        own = owner_quota_usage(project_id=project_id) | {"key_pairs": of_caller["key_pairs"]}
        shown = {
            "project_id": project_id,
            "limits": quota_limits(project_id=project_id),
            "used": asdict(used) | asdict(images) | networks | volumes | own,
            "user_limits": user_quota_shown(project_id=project_id, user_id=caller.user_id),
            "user_used": of_caller,
        }
        return Response(QuotaOutput(shown).data)


class UserQuotaView(APIView):
    """What one user may have in one project, for admins. It narrows the project's own limits."""

    policy = {"get": "user_quotas:read", "patch": "user_quotas:write", "delete": "user_quotas:write"}

    @extend_schema(responses=UserQuotaOutput)
    def get(self, request: Request, project_id: uuid.UUID, user_id: uuid.UUID) -> Response:
        """Limits of the user, null where he has none of his own, and what he has."""
        project_get(project_id=project_id)
        return Response(_user_quota(project_id, user_id))

    @extend_schema(request=UserQuotaInput, responses=UserQuotaOutput)
    def patch(self, request: Request, project_id: uuid.UUID, user_id: uuid.UUID) -> Response:
        """Change them: not above the project's, nor below what the user has unless `force`."""
        body = UserQuotaInput(data=request.data)
        body.is_valid(raise_exception=True)
        limits = dict(body.validated_data)
        user_quota_limit(project_id=project_id, user_id=user_id, force=limits.pop("force"), limits=limits)
        return Response(_user_quota(project_id, user_id))

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, project_id: uuid.UUID, user_id: uuid.UUID) -> Response:
        """Only the project's limits count again."""
        user_quota_reset(project_id=project_id, user_id=user_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class QuotaClassView(APIView):
    """The class `default`: what a project may have that has no limits of its own. There is no other in force."""

    policy = {"get": "quota_classes:read", "patch": "quota_classes:write", "delete": "quota_classes:write"}

    @extend_schema(responses=AmountsOutput)
    def get(self, request: Request, name: str) -> Response:
        """Its limits, the installation's settings where it says nothing."""
        if name != DEFAULT_CLASS:
            raise NotFound(f"There is no quota class {name!r:.80}; the one that is in force is {DEFAULT_CLASS}.")
        return Response(AmountsOutput(quota_defaults()).data)

    @extend_schema(request=QuotaClassInput, responses=AmountsOutput)
    def patch(self, request: Request, name: str) -> Response:
        """Change some of them; null is the installation's setting again."""
        body = QuotaClassInput(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(AmountsOutput(quota_class_set(name=name, limits=body.validated_data)).data)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Only the installation's settings count again."""
        quota_class_reset(name=name)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _user_quota(project_id: uuid.UUID, user_id: uuid.UUID) -> dict[str, Any]:
    limits = user_quota_shown(project_id=project_id, user_id=user_id)
    shown = {"limits": limits, "used": _used_by(project_id, user_id)}
    return dict(UserQuotaOutput(shown).data)


def _used_by(project_id: uuid.UUID, user_id: uuid.UUID) -> dict[str, int]:
    instances = asdict(quota_usage(project_id=project_id, user_id=user_id))
    return instances | owner_quota_usage(project_id=project_id, user_id=user_id)
