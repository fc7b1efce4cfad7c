"""One Ceph cluster for all tests of a process that need one, and a browser for each test that does."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from computeagent.protocol.volumes import PoolKind, VolumeSpec
from computeagent.volumes.rbd import RbdBackend
from tests.fixtures.browser import started_chromium
from tests.worlds.ceph import POOL, Ceph, ceph_cluster, missing_for_ceph


@pytest.fixture(scope="session")
def ceph() -> Iterator[Ceph]:
    if missing := missing_for_ceph():
        pytest.skip(missing)
    with ceph_cluster() as cluster:
        yield cluster


@pytest.fixture
def pool(ceph: Ceph) -> Iterator[RbdBackend]:
    """The cluster's pool, left as empty as it was found."""
    backend = RbdBackend("ceph", ceph.place())
    yield backend
    volumes, snapshots = backend.held()
    for volume, snapshot in snapshots:
        backend.snapshot_delete(VolumeSpec(volume, "ceph", PoolKind.RBD, 1), snapshot)
    for volume in volumes:
        backend.delete(VolumeSpec(volume, "ceph", PoolKind.RBD, 1))
    for name in backend.names():
        ceph.run("rbd", "snap", "purge", "--no-progress", f"{POOL}/{name}")
        ceph.run("rbd", "rm", "--no-progress", f"{POOL}/{name}")
    backend.held()
    assert ceph.remains() == []


@pytest.fixture
def page() -> Iterator[Page]:
    with started_chromium() as browser:
        yield browser.new_page(viewport={"width": 900, "height": 600})
