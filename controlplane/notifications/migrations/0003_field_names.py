"""Names that the field uses."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0002_webhook_retry_at'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='notification',
            name='notification_unoffered',
        ),
        migrations.RenameField(
            model_name='notification',
            old_name='offered_at',
            new_name='fanned_out_at',
        ),
        migrations.RenameField(
            model_name='webhook',
            old_name='sealed_secret',
            new_name='encrypted_secret',
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(condition=models.Q(('fanned_out_at__isnull', True)), fields=['created_at'], name='notification_unoffered'),
        ),
    ]
