"""Pages of volumes, their snapshots and backups, types and pools."""
