from django.db import migrations, models

KINDS = ['instance', 'host', 'volume', 'image', 'floating_ip', 'work']


class Migration(migrations.Migration):

    dependencies = [
        ('servers', '0048_flavor_access'),
    ]

    operations = [
        migrations.AddField(
            model_name='bulkjob',
            name='kind',
            field=models.CharField(choices=[(kind, kind) for kind in KINDS], default='instance', help_text='What its items are.', max_length=12),
        ),
        migrations.AddField(
            model_name='bulkjob',
            name='note',
            field=models.CharField(blank=True, help_text='What goes with the action, where it takes one.', max_length=255),
        ),
        migrations.RemoveConstraint(
            model_name='bulkjobitem',
            name='bulk_job_instance_once',
        ),
        migrations.RenameField(
            model_name='bulkjobitem',
            old_name='instance_uuid',
            new_name='subject',
        ),
        migrations.AlterField(
            model_name='bulkjobitem',
            name='subject',
            field=models.UUIDField(help_text='The instance, host (its compute node), volume ...'),
        ),
        migrations.AddConstraint(
            model_name='bulkjobitem',
            constraint=models.UniqueConstraint(fields=('job', 'subject'), name='bulk_job_subject_once'),
        ),
    ]
