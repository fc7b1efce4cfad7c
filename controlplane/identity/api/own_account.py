"""One's own password and second factor, and the second factor of somebody who lost the device.

A second factor is set up in the pages alone: whoever has only a token must not change how its owner logs in.
"""

import uuid
from typing import cast

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.addresses import address_of
from controlplane.identity.api.serializers import PasswordInput, SecondFactorOutput
from controlplane.identity.domain import LoginThrottled
from controlplane.identity.models import User
from controlplane.identity.selectors.people import user_get
from controlplane.identity.selectors.second_factors import (
    is_second_factor_required,
    recovery_codes_left,
    second_factor_of,
)
from controlplane.identity.services import second_factor_remove, user_password_change
from controlplane.infra.api.errors import kernel_body


class OwnPasswordView(APIView):
    """The caller's own password."""

    policy = {"post": "me:write"}

    @extend_schema(request=PasswordInput, responses={204: None})
    def post(self, request: Request) -> Response:
        """Change it. All tokens of the caller end, the one of this call too, and so do sessions."""
        body = PasswordInput(data=request.data)
        body.is_valid(raise_exception=True)
        user = user_get(user_id=cast("User", request.user).pk)
        try:
            user_password_change(user=user, address=address_of(request.META), **body.validated_data)
        except LoginThrottled as error:
            headers = {"Retry-After": str(error.wait_s)}
            return Response(kernel_body(error), status=status.HTTP_429_TOO_MANY_REQUESTS, headers=headers)
        return Response(status=status.HTTP_204_NO_CONTENT)


class OwnSecondFactorView(APIView):
    """The caller's own second factor."""

    policy = {"get": "me:read"}

    @extend_schema(responses={200: SecondFactorOutput})
    def get(self, request: Request) -> Response:
        """Whether there is one, and has to be one."""
        user = user_get(user_id=cast("User", request.user).pk)
        factor = second_factor_of(user=user)
        state = {
            "is_set_up": factor is not None,
            "is_required": is_second_factor_required(user=user),
            "confirmed_at": factor.confirmed_at if factor else None,
            "recovery_codes_left": recovery_codes_left(user=user) if factor else 0,
        }
        return Response(SecondFactorOutput(state).data)


class UserSecondFactorView(APIView):
    """Somebody's second factor. Admins only."""

    policy = {"delete": "users:write"}

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, user_id: uuid.UUID) -> Response:
        """Take it away from a user whose device is lost."""
        second_factor_remove(user=user_get(user_id=user_id))
        return Response(status=status.HTTP_204_NO_CONTENT)
