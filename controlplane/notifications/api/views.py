"""Webhooks and what became of notifications. Only admins see them: events are of all projects."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.infra.api.identifiers import uuid_in_path
from controlplane.kernel.errors import NotFound
from controlplane.notifications.api.serializers import (
    DeliveryDetailOutput,
    DeliveryOutput,
    NotificationDetailOutput,
    NotificationOutput,
    ResentOutput,
    WebhookChange,
    WebhookInput,
    WebhookOutput,
)
from controlplane.notifications.fan_out import delivery_resend, event_resend
from controlplane.notifications.filtersets import WebhookFilterSet
from controlplane.notifications.models import Delivery, Notification, Webhook
from controlplane.notifications.test_delivery import webhook_try
from controlplane.notifications.webhooks import webhook_create, webhook_delete, webhook_get, webhook_update

READ, WRITE = "webhooks:read", "webhooks:write"


class WebhookViewSet(ReadOnlyModelViewSet[Webhook]):
    """Webhooks: who gets which events. What went to one: `/api/deliveries/?webhook=ID`."""

    policy = {
        "list": READ,
        "retrieve": READ,
        "create": WRITE,
        "partial_update": WRITE,
        "destroy": WRITE,
        "test": WRITE,
    }
    queryset = Webhook.objects.all()
    serializer_class = WebhookOutput
    filterset_class = WebhookFilterSet
    ordering_fields = ["name", "created_at"]

    def get_object(self) -> Webhook:
        """The one that the address names."""
        return webhook_get(webhook_id=uuid_in_path(self.kwargs["pk"], what="Webhook"))

    @extend_schema(request=WebhookInput, responses={201: WebhookOutput})
    def create(self, request: Request) -> Response:
        """Subscribes; the webhook gets what happens from now on."""
        body = WebhookInput(data=request.data)
        body.is_valid(raise_exception=True)
        made = webhook_create(**body.validated_data)
        return Response(WebhookOutput(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=WebhookChange, responses=WebhookOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes what is given. What is on its way goes to the new address."""
        body = WebhookChange(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        return Response(
            WebhookOutput(webhook_update(webhook_id=uuid_in_path(pk, what="Webhook"), **body.validated_data)).data
        )

    def destroy(self, request: Request, pk: str) -> Response:
        """Unsubscribes, and forgets its deliveries."""
        webhook_delete(webhook_id=uuid_in_path(pk, what="Webhook"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={202: DeliveryOutput})
    @action(detail=True, methods=["post"])
    def test(self, request: Request, pk: str) -> Response:
        """Sends it an event of the type webhook.test, whatever it wants. The delivery shows what came of it."""
        made = webhook_try(webhook_id=uuid_in_path(pk, what="Webhook"))
        return Response(DeliveryOutput(made).data, status=status.HTTP_202_ACCEPTED)


class DeliveryViewSet(ReadOnlyModelViewSet[Delivery]):
    """Events on their way, arrived, or given up."""

    policy = {"list": READ, "retrieve": READ, "resend": WRITE}
    queryset = Delivery.objects.none()
    filterset_fields = ["state", "webhook", "notification", "notification__event_type"]
    ordering_fields = ["created_at", "next_at", "finished_at"]

    def get_queryset(self) -> QuerySet[Delivery]:
        return _deliveries()

    def get_object(self) -> Delivery:
        """The one that the address names."""
        return _delivery(uuid_in_path(self.kwargs["pk"], what="Delivery"))

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        """The attempts come with one delivery, not with a list of them."""
        return DeliveryOutput if self.action == "list" else DeliveryDetailOutput

    @extend_schema(request=None, responses={202: DeliveryOutput})
    @action(detail=True, methods=["post"])
    def resend(self, request: Request, pk: str) -> Response:
        """Sends it again, with as many attempts as a new one has, whatever became of it."""
        delivery_id = uuid_in_path(pk, what="Delivery")
        delivery_resend(delivery_id=delivery_id)
        return Response(DeliveryOutput(_delivery(delivery_id)).data, status=status.HTTP_202_ACCEPTED)


class NotificationViewSet(ReadOnlyModelViewSet[Notification]):
    """The outbox: what was emitted, the newest first."""

    policy = {"list": READ, "retrieve": READ, "resend": WRITE}
    queryset = Notification.objects.all()
    filterset_fields = ["event_type", "priority", "request_id", "project_id"]
    ordering_fields = ["created_at", "happened_at"]

    def get_object(self) -> Notification:
        """The one that the address names."""
        notification_id = uuid_in_path(self.kwargs["pk"], what="Notification")
        row = Notification.objects.filter(pk=notification_id).first()
        if row is None:
            raise NotFound(f"There is no notification {notification_id}.")
        return row

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        """The message comes with one notification, not with a list of them."""
        return NotificationOutput if self.action == "list" else NotificationDetailOutput

    @extend_schema(request=None, responses={202: ResentOutput})
    @action(detail=True, methods=["post"])
    def resend(self, request: Request, pk: str) -> Response:
        """Sends it again to every webhook that wants it now, also to those that came later. 409 where none does."""
        count = event_resend(notification_id=uuid_in_path(pk, what="Notification"))
        return Response({"webhooks": count}, status=status.HTTP_202_ACCEPTED)


def _deliveries() -> QuerySet[Delivery]:
    return Delivery.objects.select_related("notification", "webhook")


def _delivery(delivery_id: UUID) -> Delivery:
    row = _deliveries().prefetch_related("attempts").filter(pk=delivery_id).first()
    if row is None:
        raise NotFound(f"There is no delivery {delivery_id}.")
    return row
