"""The bytes of volumes' backups in the store that images are kept in. What rows say is `volumes.services`' business."""
