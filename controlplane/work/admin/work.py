"""What is to be done, and who does it."""

from django.apps import apps
from django.contrib import admin

from controlplane.infra.admin.bases import ReadOnlyAdmin
from controlplane.infra.admin.filters import typed
from controlplane.work.models import NamedLease, Wakeup, Work


@admin.register(Work)
class WorkAdmin(ReadOnlyAdmin):
    """What waits, runs and ended."""

    list_display = [
        "kind",
        "subject",
        "queue",
        "state",
        "attempt",
        "step",
        "lease_until",
        "created_at",
    ]
    # A queue for each host would be thousands of links; the search finds them.
    list_filter = ["state", typed("kind"), typed("queue")]
    search_fields = ["id", "subject", "queue", "request_id", "lease_owner"]


@admin.register(Wakeup)
class WakeupAdmin(ReadOnlyAdmin):
    """Wake-ups not yet answered."""

    list_display = ["queue", "code", "ref", "woken_at"]
    list_filter = [typed("queue"), typed("code")]
    search_fields = ["queue", "ref"]


@admin.register(NamedLease)
class NamedLeaseAdmin(ReadOnlyAdmin):
    """Who does what periodic work now."""

    list_display = ["name", "owner", "until"]


def queue_rows_hide() -> None:
    """Take django-q2's own models out of the admin: nothing is ever kept in them, and their actions ask no permission.

    They were registered before this runs, whichever app's admin was found first.
    """
    for model in apps.get_app_config("django_q").get_models():
        if admin.site.is_registered(model):
            admin.site.unregister(model)
