"""A store of its own for each test, and people with tokens."""

from pathlib import Path
from typing import Any

import pytest

from tests.worlds.image_api import ImagePeople, image_people


@pytest.fixture(autouse=True)
def store(settings: Any, tmp_path: Path) -> Path:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path}
    return tmp_path


@pytest.fixture
def world(db: None) -> ImagePeople:
    return image_people()
