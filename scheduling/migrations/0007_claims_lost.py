"""How many claims a decision lost to others, for metrics."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0006_fleet_changes")]

    operations = [
        migrations.AddField(
            model_name="schedulingdecision",
            name="claims_lost",
            field=models.PositiveIntegerField(
                default=0, help_text="Shortages that its claims met because others took the room first."
            ),
        ),
    ]
