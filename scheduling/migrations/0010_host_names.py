"""Names that the field uses."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('scheduling', '0009_remove_cell_database'),
    ]

    operations = [
        migrations.RenameModel(
            old_name='HostRoster',
            new_name='HostNames',
        ),
        migrations.RemoveIndex(
            model_name='schedulingdecision',
            name='decision_by_roster',
        ),
        migrations.RenameField(
            model_name='schedulerpolicy',
            old_name='sealed',
            new_name='immutable',
        ),
        migrations.RenameField(
            model_name='schedulingdecision',
            old_name='roster',
            new_name='host_names',
        ),
        migrations.AddIndex(
            model_name='schedulingdecision',
            index=models.Index(fields=['host_names'], name='decision_by_host_names'),
        ),
    ]
