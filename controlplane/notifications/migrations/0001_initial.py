"""The models come from the app `infra` with their tables: only the state is written here."""

import django.db.models.deletion
import uuid
from django.db import migrations, models


def content_types_follow(apps, schema_editor):
    """Permissions and admin log entries that name the models follow them."""
    types = apps.get_model("contenttypes", "ContentType").objects
    for model in ("delivery", "deliveryattempt", "notification", "webhook"):
        if not types.filter(app_label="notifications", model=model).exists():
            types.filter(app_label="infra", model=model).update(app_label="notifications")


class Migration(migrations.Migration):

    initial = True

    dependencies = [("contenttypes", "0002_remove_content_type_name"), ("infra", "0005_models_to_their_apps")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Delivery',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                        ('updated_at', models.DateTimeField(auto_now=True)),
                        ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=8)),
                        ('attempt', models.PositiveIntegerField(default=0)),
                        ('max_attempts', models.PositiveIntegerField(help_text='The attempt after which it is given up.')),
                        ('next_at', models.DateTimeField(help_text='Not to be tried before.')),
                        ('deadline_at', models.DateTimeField(help_text='Not to be tried after.')),
                        ('lease_owner', models.CharField(blank=True, max_length=200)),
                        ('lease_until', models.DateTimeField(blank=True, null=True)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                        ('error', models.CharField(blank=True, help_text='Why the last attempt failed.', max_length=500)),
                    ],
                    options={
                        'verbose_name_plural': 'deliveries',
                        'ordering': ['-created_at'],
                    },
                ),
                migrations.CreateModel(
                    name='Webhook',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                        ('updated_at', models.DateTimeField(auto_now=True)),
                        ('name', models.CharField(max_length=64, unique=True)),
                        ('url', models.CharField(help_text='http:// or https://; each event is posted there as JSON.', max_length=2000)),
                        ('events', models.JSONField(default=list, help_text='Patterns of event types, such as ["scheduler.*", "*.error"]; ["*"] is every event.')),
                        ('sealed_secret', models.TextField(help_text='Encrypted; nobody is shown it again.')),
                        ('enabled', models.BooleanField(default=True)),
                    ],
                    options={
                        'ordering': ['name'],
                    },
                ),
                migrations.CreateModel(
                    name='DeliveryAttempt',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('number', models.PositiveIntegerField()),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                        ('duration_ms', models.PositiveIntegerField()),
                        ('status', models.PositiveIntegerField(blank=True, null=True)),
                        ('error', models.CharField(blank=True, max_length=500)),
                        ('answer', models.CharField(blank=True, help_text='The beginning of what the receiver said.', max_length=500)),
                        ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='notifications.delivery')),
                    ],
                    options={
                        'ordering': ['delivery', 'number'],
                    },
                ),
                migrations.CreateModel(
                    name='Notification',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('event_type', models.CharField(help_text='Such as scheduler.select_destinations.end.', max_length=100)),
                        ('publisher_id', models.CharField(help_text='Service and host that tell it.', max_length=200)),
                        ('priority', models.CharField(choices=[('INFO', 'Info'), ('WARN', 'Warn'), ('ERROR', 'Error')], default='INFO', max_length=5)),
                        ('payload', models.JSONField()),
                        ('request_id', models.CharField(blank=True, max_length=60)),
                        ('project_id', models.UUIDField(blank=True, null=True)),
                        ('happened_at', models.DateTimeField()),
                        ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                        ('offered_at', models.DateTimeField(blank=True, help_text='When its deliveries were made, one for each webhook that wants it.', null=True)),
                    ],
                    options={
                        'ordering': ['-created_at'],
                        'indexes': [models.Index(fields=['event_type', 'created_at'], name='notification_event'), models.Index(fields=['request_id'], name='notification_request'), models.Index(condition=models.Q(('offered_at__isnull', True)), fields=['created_at'], name='notification_unoffered')],
                    },
                ),
                migrations.AddField(
                    model_name='delivery',
                    name='notification',
                    field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='notifications.notification'),
                ),
                migrations.AddField(
                    model_name='delivery',
                    name='webhook',
                    field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='notifications.webhook'),
                ),
                migrations.AddIndex(
                    model_name='delivery',
                    index=models.Index(condition=models.Q(('state__in', ['waiting', 'running'])), fields=['webhook', 'next_at'], name='delivery_open'),
                ),
                migrations.AddConstraint(
                    model_name='delivery',
                    constraint=models.UniqueConstraint(fields=('notification', 'webhook'), name='delivery_once'),
                ),
            ],
        ),
        migrations.RunPython(content_types_follow, migrations.RunPython.noop),
    ]
