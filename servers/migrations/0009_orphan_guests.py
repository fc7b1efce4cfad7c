"""Guests that no instance explains are called orphan guests, as everywhere in the field."""

from django.db import migrations, models


def drift_follows(apps, schema_editor):
    """What was seen of them is seen again under the new kind; the record of what was done keeps its meaning."""
    apps.get_model("servers", "DriftSighting").objects.filter(kind="strange_guest").delete()
    apps.get_model("work", "Heal").objects.filter(kind="strange_guest").update(kind="orphan_guest")


class Migration(migrations.Migration):
    dependencies = [("servers", "0008_drift_findings"), ("work", "0001_initial")]

    operations = [
        migrations.RemoveConstraint(model_name="strangeguest", name="strange_guest_once_per_host"),
        migrations.RenameModel("StrangeGuest", "OrphanGuest"),
        migrations.RenameField("orphanguest", "kept_because", "not_removed_because"),
        migrations.AddConstraint(
            model_name="orphanguest",
            constraint=models.UniqueConstraint(fields=("host", "guest_uuid"), name="orphan_guest_once_per_host"),
        ),
        migrations.RunPython(drift_follows, migrations.RunPython.noop),
    ]
