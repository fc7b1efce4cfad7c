"""One instance on a host that reaches one pool, with a volume there."""

from pathlib import Path
from typing import Any

import pytest

from tests.services.servers.attachments.attached_cloud import Cloud


@pytest.fixture
def cloud(tmp_path: Path, settings: Any) -> Cloud:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    return Cloud(tmp_path)
