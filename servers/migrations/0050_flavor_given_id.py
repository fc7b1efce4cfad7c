"""Flavors made with an id of their maker's choice."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("servers", "0049_bulk_jobs_of_all_kinds")]

    operations = [
        migrations.AddField(
            model_name="flavor",
            name="given_id",
            field=models.CharField(
                blank=True,
                editable=False,
                help_text="What OpenStack's clients call it, where it was made with an id that is no uuid.",
                max_length=255,
                null=True,
                unique=True,
            ),
        ),
    ]
