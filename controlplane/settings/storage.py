"""What images may take of the control plane's disk, and for how long rows of what is gone are kept."""

from typing import Any

from controlplane.settings import env

STORAGE_SETTINGS: dict[str, Any] = {
    "IMAGE_UNKNOWN_DAYS": env.number(
        "IMAGE_UNKNOWN_DAYS",
        7.0,
        "Days after which a whole file in IMAGE_DIR that no image explains (the database was restored from an older "
        "backup) is moved to its directory trash; 0: never.",
        least=0.0,
    ),
}
