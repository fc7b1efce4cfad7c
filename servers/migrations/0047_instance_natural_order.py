"""Instances sort by all numbers of their names, not by the last one alone."""

from django.db import migrations, models

from controlplane.infra.natural_order import NaturalKey

LIVING = models.Q(("deleted_at__isnull", True))


def by(column: str, name: str) -> list[migrations.RemoveIndex | migrations.AddIndex]:
    index = models.Index(NaturalKey(models.F(column)), models.F(column), models.F("id"), condition=LIVING, name=name)
    return [
        migrations.RemoveIndex(model_name="instance", name=name),
        migrations.AddIndex(model_name="instance", index=index),
    ]


class Migration(migrations.Migration):
    dependencies = [("servers", "0046_overview_indexes_and_seen_crashes")]
    operations = [*by("name", "instance_by_name"), *by("host", "instance_by_host")]
