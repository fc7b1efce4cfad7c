"""Why a host could not open a console is for administrators: what it said so far is moved to a field of its own."""

from django.db import migrations, models
from django.db.models import F

TOLD_SO_FAR = "The host could not open it: "
UNTOLD = "The guest's host could not open it. An administrator sees why."


def words_of_hosts_move(apps, schema_editor):
    """Sessions that ended so say to their users what new ones say."""
    failed = apps.get_model("servers", "ConsoleSession").objects.filter(ended_because__startswith=TOLD_SO_FAR)
    failed.update(host_error=F("ended_because"), ended_because=UNTOLD)


class Migration(migrations.Migration):
    dependencies = [("servers", "0059_host_networks_behind_since")]

    operations = [
        migrations.AddField(
            model_name="consolesession",
            name="host_error",
            field=models.CharField(
                blank=True, help_text="Why the host could not open it. For administrators.", max_length=500
            ),
        ),
        migrations.RunPython(words_of_hosts_move, migrations.RunPython.noop),
    ]
