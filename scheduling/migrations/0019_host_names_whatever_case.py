"""A host's name is one host's, whatever its capitals: two that register at the same moment cannot both have it."""

from django.core.management.base import CommandError
from django.db import migrations, models
from django.db.models import Count
from django.db.models.functions import Lower


def no_pairs_check(apps, schema_editor):
    """The constraints would name an index and a value; who upgrades needs to know which hosts, and what to do."""
    pairs = set()
    for name in ("Service", "HostMapping"):
        rows = apps.get_model("scheduling", name).objects.using(schema_editor.connection.alias).order_by()
        rows = rows.annotate(folded=Lower("host"))
        twice = rows.values("folded").annotate(names=Count("host", distinct=True)).filter(names__gt=1)
        for folded in twice.values_list("folded", flat=True):
            pairs.add(" and ".join(sorted(set(rows.filter(folded=folded).values_list("host", flat=True)))))
    if pairs:
        raise CommandError(
            f"The names of these hosts differ in capitals alone: {'; '.join(sorted(pairs))}. From this release on such a "
            "name is one host's. Nothing of this migration was done. Start the release that ran before, remove all of "
            "them but one (delete the instances, stop the agent, disable the host, manage.py host_delete --host NAME; an "
            "agent may enrol again under another name), then upgrade again. See docs/operations.md, 'A host keeps its "
            "name'."
        )


class Migration(migrations.Migration):

    dependencies = [
        ('scheduling', '0018_service_down_noted_at'),
    ]

    operations = [
        migrations.RunPython(no_pairs_check, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name='hostmapping',
            constraint=models.UniqueConstraint(Lower('host'), name='host_mapping_once_whatever_case', violation_error_message='A host of this name, but for capitals, is mapped already.'),
        ),
        migrations.AddConstraint(
            model_name='service',
            constraint=models.UniqueConstraint(Lower('host'), models.F('binary'), name='service_once_whatever_case', violation_error_message='A host of this name, but for capitals, has a service of this name already.'),
        ),
    ]
