"""The columns of this app that hold encrypted secrets."""

from controlplane.infra.secret_columns import SecretColumn, secret_column_register
from servers.instances.services import first_boot, guest_password, work_secrets
from servers.models import FirstBootData, GuestPassword, VolumeKey, WorkSecret
from servers.volumes.services import keys


def secret_columns_register() -> None:
    """Called once by the app config."""
    secret_column_register(SecretColumn("passphrase of volume or backup", VolumeKey, "sealed", keys.PURPOSE))
    secret_column_register(
        SecretColumn("password of guest", GuestPassword, "encrypted", guest_password.PURPOSE, named_by="instance_uuid")
    )
    secret_column_register(
        SecretColumn("first boot of instance", FirstBootData, "encrypted", first_boot.PURPOSE, named_by="instance_uuid")
    )
    secret_column_register(SecretColumn("password of work", WorkSecret, "sealed", work_secrets.PURPOSE))
