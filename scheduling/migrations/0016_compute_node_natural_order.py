"""Hosts are listed in the order in which people count."""

from django.db import migrations, models

from controlplane.infra.natural_order import NaturalKey


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0015_networks_lack")]
    operations = [
        migrations.AddIndex(
            model_name="computenode",
            index=models.Index(
                NaturalKey(models.F("host")),
                models.F("host"),
                models.F("hypervisor_hostname"),
                name="compute_node_by_host",
            ),
        ),
    ]
