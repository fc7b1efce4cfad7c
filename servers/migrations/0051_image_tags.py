import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('servers', '0050_flavor_given_id'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImageTag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tag', models.CharField(max_length=255)),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='servers.image')),
            ],
            options={
                'ordering': ['tag'],
                'indexes': [models.Index(fields=['tag'], name='image_tag')],
                'constraints': [models.UniqueConstraint(fields=('image', 'tag'), name='image_tag_once')],
            },
        ),
        migrations.AlterField(
            model_name='image',
            name='digests',
            field=models.JSONField(blank=True, default=dict, help_text='Digests in hex by method, beside SHA-256: MD5, and what is signed.'),
        ),
    ]
