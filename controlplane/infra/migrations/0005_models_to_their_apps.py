"""Work, heals and notifications go to apps of their own, tables included.

Wake-ups and named leases are not carried over: both live for seconds, and every process is started anew by an upgrade.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("infra", "0004_heals")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.AlterModelTable("Work", "work_work"),
                migrations.AlterModelTable("Heal", "work_heal"),
                migrations.AlterModelTable("Notification", "notifications_notification"),
                migrations.AlterModelTable("Webhook", "notifications_webhook"),
                migrations.AlterModelTable("Delivery", "notifications_delivery"),
                migrations.AlterModelTable("DeliveryAttempt", "notifications_deliveryattempt"),
                migrations.DeleteModel("Doorbell"),
                migrations.DeleteModel("SoloLease"),
            ],
            state_operations=[
                migrations.DeleteModel("DeliveryAttempt"),
                migrations.DeleteModel("Delivery"),
                migrations.DeleteModel("Notification"),
                migrations.DeleteModel("Webhook"),
                migrations.DeleteModel("Heal"),
                migrations.DeleteModel("Work"),
                migrations.DeleteModel("Doorbell"),
                migrations.DeleteModel("SoloLease"),
            ],
        ),
    ]
