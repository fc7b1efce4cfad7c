"""Names that the field uses."""

from django.db import migrations, models


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
        migrations.AlterField(
            model_name="work",
            name="woken_at",
            field=models.DateTimeField(blank=True, help_text="When its wake-up was last sent.", null=True),
        ),
    ]
