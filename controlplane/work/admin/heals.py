"""What was put right without anybody asking."""

from django.contrib import admin

from controlplane.infra.admin.bases import ReadOnlyAdmin
from controlplane.infra.admin.filters import typed
from controlplane.work.models import Heal


@admin.register(Heal)
class HealAdmin(ReadOnlyAdmin):
    """Newest first, with the evidence."""

    list_display = ["kind", "subject", "found", "done", "created_at"]
    list_filter = [typed("kind"), "created_at"]
    search_fields = ["subject", "request_id", "found"]
