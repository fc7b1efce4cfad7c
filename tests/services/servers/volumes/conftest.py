"""A cloud with one host and one shared pool that it reaches."""

import pytest

from servers.models import StoragePool
from tests.worlds.cloud import People
from tests.worlds.volumes import small_cloud, storage_pool


@pytest.fixture
def people() -> People:
    return small_cloud("h1")


@pytest.fixture
def pool(people: People) -> StoragePool:
    return storage_pool("shared", "h1")
