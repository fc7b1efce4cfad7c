"""Filling the image caches of an aggregate, under /api/: Nova's aggregate image cache call, and how far it is."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from scheduling.fleet.selectors.aggregates import aggregate_members
from servers.api.serializers.host_images import AggregateImagesInput, ImageCacheRequestOutput
from servers.hosts.selectors.images import image_cache_requests
from servers.images.services.host_images import aggregate_images_cache
from servers.models import ImageCacheRequest


class AggregateImagesViewSet(GenericViewSet[ImageCacheRequest]):
    """Images that the hosts of an aggregate shall have before guests need them."""

    policy = {"list": "aggregates:read", "create": "aggregates:write"}
    serializer_class = ImageCacheRequestOutput
    queryset = ImageCacheRequest.objects.none()
    filter_backends = ()

    def list(self, request: Request, pk: str) -> Response:
        """What its hosts were asked to have, by host."""
        aggregate_id = uuid_in_path(pk, what="Aggregate")
        aggregate_members(aggregate_id=aggregate_id)
        page = self.paginate_queryset(image_cache_requests(aggregate_id=aggregate_id))
        return self.get_paginated_response(ImageCacheRequestOutput(page, many=True).data)

    @extend_schema(request=AggregateImagesInput, responses={202: None})
    def create(self, request: Request, pk: str) -> Response:
        """Ask each host of the aggregate to fetch these images. They do so one after the other, and go on after
        whatever cuts them off. Asked again, what failed begins again and what is under way stays.
        """
        body = AggregateImagesInput(data=request.data)
        body.is_valid(raise_exception=True)
        aggregate_images_cache(
            aggregate_id=uuid_in_path(pk, what="Aggregate"),
            image_ids=[each["id"] for each in body.validated_data["cache"]],
            asked_by=caller_of(request).username,
        )
        return Response(status=status.HTTP_202_ACCEPTED)
