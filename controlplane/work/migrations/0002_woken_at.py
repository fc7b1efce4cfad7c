"""Names that the field uses."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('work', '0001_initial'),
    ]

    operations = [
        migrations.RenameField(
            model_name='wakeup',
            old_name='rung_at',
            new_name='woken_at',
        ),
        migrations.RenameField(
            model_name='work',
            old_name='rung_at',
            new_name='woken_at',
        ),
    ]
