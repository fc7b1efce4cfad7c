"""Members of an image: the projects that it is shared with."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.images import ImageMemberAnswer, ImageMemberInput, ImageMemberOutput
from servers.images.selectors import image_get, image_members
from servers.images.services.image_members import image_member_add, image_member_answer, image_member_remove


class ImageMembersView(APIView):
    """All members for the owner; a member sees itself."""

    policy = {"get": "images:read", "post": "images:write"}

    @extend_schema(operation_id="images_members_list", responses=ImageMemberOutput(many=True))
    def get(self, request: Request, pk: str) -> Response:
        """Lists them."""
        caller = caller_of(request)
        image = image_get(caller=caller, image_id=uuid_in_path(pk, what="Image"))
        return Response(ImageMemberOutput(image_members(caller=caller, image=image), many=True).data)

    @extend_schema(request=ImageMemberInput, responses={201: ImageMemberOutput})
    def post(self, request: Request, pk: str) -> Response:
        """Shares the image (of visibility `shared`) with one more project."""
        body = ImageMemberInput(data=request.data)
        body.is_valid(raise_exception=True)
        member = image_member_add(
            caller=caller_of(request),
            image_id=uuid_in_path(pk, what="Image"),
            project_id=body.validated_data["project"],
        )
        return Response(ImageMemberOutput(member).data, status=status.HTTP_201_CREATED)


class ImageMemberView(APIView):
    """One member."""

    policy = {"put": "images:write", "delete": "images:write"}

    @extend_schema(request=ImageMemberAnswer, responses=ImageMemberOutput)
    def put(self, request: Request, pk: str, project: str) -> Response:
        """The member itself accepts or rejects the image."""
        body = ImageMemberAnswer(data=request.data)
        body.is_valid(raise_exception=True)
        member = image_member_answer(
            caller=caller_of(request),
            image_id=uuid_in_path(pk, what="Image"),
            project_id=uuid_in_path(project, what="Project"),
            status=body.validated_data["status"],
        )
        return Response(ImageMemberOutput(member).data)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, pk: str, project: str) -> Response:
        """The owner shares it no longer with this project."""
        image_member_remove(
            caller=caller_of(request),
            image_id=uuid_in_path(pk, what="Image"),
            project_id=uuid_in_path(project, what="Project"),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)
