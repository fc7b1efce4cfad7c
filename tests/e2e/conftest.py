"""One Ceph cluster for all tests of a process that need one, and a browser for each test that does."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, sync_playwright

from computeagent.protocol.volumes import PoolKind, VolumeSpec
from computeagent.volumes.rbd import RbdBackend
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
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page(viewport={"width": 900, "height": 600})
        browser.close()
