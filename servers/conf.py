"""Settings of this app as one frozen object, read when asked so that tests can change them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Limits are those of Nova's quota defaults unless set."""

    image_dir: Path
    image_max_bytes: int
    key_pairs_per_user: int
    server_groups_per_project: int
    server_group_members: int
    upload_stale_s: float
    image_unknown_days: float
    image_reserve_bytes: int


def server_options() -> ServerOptions:
    """The options as they are set now."""
    ours: dict[str, Any] = settings.KILONOVA
    return ServerOptions(
        image_dir=Path(ours["IMAGE_DIR"]),
        image_max_bytes=ours["IMAGE_MAX_BYTES"],
        key_pairs_per_user=ours.get("QUOTA_KEY_PAIRS", 100),
        server_groups_per_project=ours.get("QUOTA_SERVER_GROUPS", 10),
        server_group_members=ours.get("QUOTA_SERVER_GROUP_MEMBERS", 10),
        upload_stale_s=ours.get("UPLOAD_STALE_S", 3600.0),
        image_unknown_days=ours["IMAGE_UNKNOWN_DAYS"],
        image_reserve_bytes=ours["IMAGE_RESERVE_BYTES"],
    )
