from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("servers", "0006_remove_mapping_queued_for_delete"),
    ]

    operations = [
        migrations.RemoveField(model_name="instance", name="console_host"),
        migrations.RemoveField(model_name="instance", name="console_port"),
        migrations.AddField(
            model_name="instance",
            name="console_socket",
            field=models.CharField(blank=True, help_text="The UNIX socket of VNC, on the host.", max_length=255),
            preserve_default=True,
        ),
    ]
