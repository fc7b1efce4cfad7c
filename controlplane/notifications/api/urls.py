"""Everything of this app under /api/."""

from rest_framework.routers import SimpleRouter

from controlplane.notifications.api.views import DeliveryViewSet, NotificationViewSet, WebhookViewSet

router = SimpleRouter()
router.register("webhooks", WebhookViewSet, basename="webhook")
router.register("notifications", NotificationViewSet, basename="notification")
router.register("deliveries", DeliveryViewSet, basename="delivery")

urlpatterns = router.urls
