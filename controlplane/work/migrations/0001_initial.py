"""The models come from the app `infra` with their tables: only the state is written here; leases and wake-ups are made anew."""

import uuid
from django.db import migrations, models


def content_types_follow(apps, schema_editor):
    """Permissions and admin log entries that name the models follow them."""
    types = apps.get_model("contenttypes", "ContentType").objects
    for model in ("heal", "work"):
        if not types.filter(app_label="work", model=model).exists():
            types.filter(app_label="infra", model=model).update(app_label="work")


class Migration(migrations.Migration):

    initial = True

    dependencies = [("contenttypes", "0002_remove_content_type_name"), ("infra", "0005_models_to_their_apps")]

    operations = [
        migrations.CreateModel(
            name='NamedLease',
            fields=[
                ('name', models.CharField(max_length=60, primary_key=True, serialize=False)),
                ('owner', models.CharField(max_length=200)),
                ('until', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Wakeup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=100)),
                ('code', models.CharField(max_length=40)),
                ('ref', models.CharField(max_length=64)),
                ('rung_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('queue', 'code', 'ref'), name='wakeup_once')],
            },
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Heal',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('kind', models.CharField(help_text='What went wrong: overdue_work, overdue_task, orphan_claims ...', max_length=40)),
                        ('subject', models.UUIDField(blank=True, help_text='The instance, reservation or consumer.', null=True)),
                        ('found', models.TextField()),
                        ('done', models.TextField()),
                        ('evidence', models.JSONField(blank=True, default=dict)),
                        ('request_id', models.CharField(blank=True, max_length=60)),
                        ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                    ],
                    options={
                        'ordering': ['-created_at', 'id'],
                        'indexes': [models.Index(fields=['subject', '-created_at'], name='heal_subject')],
                    },
                ),
                migrations.CreateModel(
                    name='Work',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                        ('updated_at', models.DateTimeField(auto_now=True)),
                        ('queue', models.CharField(max_length=100)),
                        ('kind', models.CharField(max_length=40)),
                        ('subject', models.UUIDField(help_text='The instance, or the reservation of a batch.')),
                        ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='waiting', max_length=12)),
                        ('attempt', models.PositiveIntegerField(default=0)),
                        ('max_attempts', models.PositiveIntegerField(default=5, help_text='Takes after which it ends as failed.')),
                        ('lease_owner', models.CharField(blank=True, max_length=200)),
                        ('lease_until', models.DateTimeField(blank=True, null=True)),
                        ('deadline_at', models.DateTimeField(help_text='When it ends as failed, whoever holds it.')),
                        ('rung_at', models.DateTimeField(blank=True, help_text='When its doorbell was last rung.', null=True)),
                        ('started_at', models.DateTimeField(blank=True, null=True)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                        ('step', models.CharField(blank=True, help_text='What it was doing when last heard of.', max_length=60)),
                        ('request_id', models.CharField(blank=True, max_length=60)),
                        ('arguments', models.JSONField(blank=True, default=dict)),
                        ('outcome', models.JSONField(blank=True, default=dict)),
                    ],
                    options={
                        'verbose_name_plural': 'work',
                        'ordering': ['-created_at'],
                        'indexes': [models.Index(fields=['queue', 'state'], name='work_queue_state'), models.Index(condition=models.Q(('state__in', ['waiting', 'running'])), fields=['deadline_at'], name='work_open'), models.Index(fields=['subject'], name='work_subject'), models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['finished_at'], name='work_ended')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['waiting', 'running'])), fields=('kind', 'subject'), name='work_one_open_per_kind_and_subject', violation_error_message='The same work is already under way.')],
                    },
                ),
            ],
        ),
        migrations.RunPython(content_types_follow, migrations.RunPython.noop),
    ]
