from django.db import migrations, models

import controlplane.identity.domain.saved_view


class Migration(migrations.Migration):

    dependencies = [
        ('identity', '0010_second_factors_and_outside_people'),
    ]

    operations = [
        migrations.AlterField(
            model_name='savedview',
            name='list',
            field=models.CharField(choices=controlplane.identity.domain.saved_view.list_choices, max_length=30),
        ),
    ]
