"""An index of what ended lately, for metrics."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("infra", "0002_notifications")]

    operations = [
        migrations.AddIndex(
            model_name="work",
            index=models.Index(condition=Q(finished_at__isnull=False), fields=["finished_at"], name="work_ended"),
        ),
    ]
