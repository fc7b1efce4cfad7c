"""Indexes of the attempts and steps that ended lately, for metrics."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("servers", "0001_initial")]

    operations = [
        migrations.AddIndex(
            model_name="attemptrecord",
            index=models.Index(condition=Q(finished_at__isnull=False), fields=["finished_at"], name="attempt_ended"),
        ),
        migrations.AddIndex(
            model_name="instanceactionevent",
            index=models.Index(
                condition=Q(finished_at__isnull=False), fields=["finished_at"], name="action_event_ended"
            ),
        ),
    ]
