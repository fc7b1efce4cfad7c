"""Answers of the scheduler under /api/. They are here because flavors and instances are this app's.

Without the slash at the end they work as well: a redirect would lose the body of a POST.
"""

from django.urls import path

from servers.api.views.schedule import CapacityView, ExplainView, PolicyBatchView, SimulateView

urlpatterns = [
    path("schedule/simulate/", SimulateView.as_view(), name="schedule-simulate"),
    path("schedule/explain/", ExplainView.as_view(), name="schedule-explain"),
    path("capacity/", CapacityView.as_view(), name="capacity"),
    path("policies/<str:pk>/batch/", PolicyBatchView.as_view(), name="policy-batch-api"),
    path("schedule/simulate", SimulateView.as_view(schema=None)),
    path("schedule/explain", ExplainView.as_view(schema=None)),
    path("capacity", CapacityView.as_view(schema=None)),
]
