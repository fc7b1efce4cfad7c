"""Answers of the scheduler under /api/. They are here because flavors and instances are this app's."""

from django.urls import path

from servers.api.views.schedule import CapacityView, ExplainView, PolicyBatchView, SimulateView

urlpatterns = [
    path("schedule/simulate/", SimulateView.as_view(), name="schedule-simulate"),
    path("schedule/explain/", ExplainView.as_view(), name="schedule-explain"),
    path("capacity/", CapacityView.as_view(), name="capacity"),
    path("policies/<str:pk>/batch/", PolicyBatchView.as_view(), name="policy-batch-api"),
]
