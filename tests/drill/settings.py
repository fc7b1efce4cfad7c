"""Settings of the installation of a drill: short intervals, and room for all that it makes."""

from tests.drill.names import CONSOLE_TOKEN_S

SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
    "LEASE_S": "3",
    "ORPHAN_GUEST_GRACE_S": "2",
    "ORPHAN_VOLUME_GRACE_S": "2",
    "RECONCILE_INTERVAL_S": "0.5",
    "REPORT_INTERVAL_S": "2",
    "SERVICE_DOWN_TIME_S": "20",
    "BUILD_DEADLINE_S": "60",
    "RESERVED_HOST_MEMORY_MIB": "0",
    "DRIFT_GRACE_S": "5",
    "RECLAIM_INSTANCE_INTERVAL_S": "86400",
    # Long enough for somebody to ask for it first.
    "SHELVED_OFFLOAD_TIME_S": "8",
    "DEFAULT_QUOTA_INSTANCES": "1000",
    "DEFAULT_QUOTA_CORES": "1000",
    "DEFAULT_QUOTA_VOLUMES": "1000",
    "DEFAULT_QUOTA_VOLUME_GIB": "10000",
    "DEFAULT_QUOTA_VOLUME_SNAPSHOTS": "1000",
    "DEFAULT_QUOTA_VOLUME_BACKUPS": "1000",
    "DEFAULT_QUOTA_VOLUME_BACKUP_GIB": "10000",
    "CONSOLE_TOKEN_S": str(CONSOLE_TOKEN_S),
    "CONSOLE_LOST_S": "10",
    "CONSOLE_SESSIONS_PER_USER": "200",
    "DEFAULT_QUOTA_RAM_MIB": "1000000",
}
