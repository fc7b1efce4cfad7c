from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("servers", "0013_guest_counters")]

    operations = [
        migrations.AddField(
            model_name="instance",
            name="soft_deleted_at",
            field=models.DateTimeField(
                blank=True, help_text="When it was deleted so that it can be restored.", null=True
            ),
        ),
        migrations.AddField(
            model_name="instance",
            name="protected",
            field=models.BooleanField(default=False, help_text="Nobody deletes it until it is unprotected."),
        ),
        migrations.AddIndex(
            model_name="instance",
            index=models.Index(
                condition=models.Q(("soft_deleted_at__isnull", False)),
                fields=["soft_deleted_at"],
                name="instance_soft_deleted",
            ),
        ),
    ]
