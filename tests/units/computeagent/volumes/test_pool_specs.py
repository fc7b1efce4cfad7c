"""What an operator writes becomes the pools of a host, or is refused in words."""

from pathlib import Path

import pytest

from computeagent.protocol.volumes import PoolKind
from computeagent.volumes.factory import host_pools
from computeagent.volumes.file.backend import FileBackend
from computeagent.volumes.file.directory import pool_begin
from computeagent.volumes.memory import MemoryBackend
from computeagent.volumes.nbd.backend import NbdBackend
from computeagent.volumes.nbd.client import NbdClient
from computeagent.volumes.pool_specs import PoolSpec, pool_specs
from computeagent.volumes.rbd.backend import RbdBackend
from controlplane.kernel.errors import Invalid


def test_pools_are_named_one_by_one_or_by_commas() -> None:
    specs = pool_specs(["local=file:/a?size_gib=5, nfs=shared-file:/b", "net=nbd:@[fd00::5]?port=7", ""])
    assert specs == (
        PoolSpec("local", "file", "/a", {"size_gib": "5"}),
        PoolSpec("nfs", "shared-file", "/b"),
        PoolSpec("net", "nbd", "@[fd00::5]", {"port": "7"}),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("local", "NAME=KIND:PLACE"),
        ("local=file:", "NAME=KIND:PLACE"),
        ("=file:/a", "name of a pool"),
        ("../x=file:/a", "name of a pool"),
        ("local=file:/a,local=file:/b", "twice"),
        ("local=lvm:/a", "no kind of pool; there are file, nbd, rbd, shared-file"),
        ("local=file:volumes", "whole path"),
        ("local=file:/a/../b", "whole path"),
        ("local=file:/a?size=3", "no option 'size'; it has size_gib"),
        ("local=file:/a?size_gib=many", "whole number"),
        ("local=file:/a?size_gib", "name=value"),
        ("net=nbd:/srv", "DIRECTORY@ADDRESS"),
        ("net=nbd:@10.0.0.5?size_gib=3", "no option 'size_gib'"),
        ("net=nbd:/srv@10.0.0.5?user=nobody-of-this-name", "there is no user"),
        ("ceph=rbd:volumes?pool=x", "no option 'pool'"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason) as refused:
        host_pools([text], state_dir=tmp_path)
    assert refused.value.field == "volume_pools"


def test_each_kind_has_its_backend(tmp_path: Path) -> None:
    own, shared, served = tmp_path / "own", tmp_path / "shared", tmp_path / "served"
    shared.mkdir()
    pool_begin(shared)
    texts = [
        f"local=file:{own}", f"nfs=shared-file:{shared}", f"net=nbd:{served}@127.0.0.1?user=root",
        "far=nbd:@127.0.0.1", "ceph=rbd:volumes",
    ]  # fmt: skip
    pools = host_pools(texts, state_dir=tmp_path / "state")
    kinds = {name: type(backend) for name, backend in pools.backends.items()}
    assert kinds == {
        "local": FileBackend, "nfs": FileBackend, "net": NbdBackend, "far": NbdClient, "ceph": RbdBackend,
    }  # fmt: skip
    assert pools.directories == (own, shared, served, tmp_path / "state" / "pools" / "far.nbd")
    assert own.is_dir()
    reports = {name: pools.backends[name].report() for name in ("local", "nfs")}
    assert not any(report.problem for report in reports.values())
    assert [report.is_shared for report in reports.values()] == [False, True]
    again = host_pools(texts[:1], state_dir=tmp_path / "state").backends["local"].report()
    assert again.identity == reports["local"].identity


def test_simulated_hosts_have_pools_of_the_same_names_in_memory(tmp_path: Path) -> None:
    texts = [f"local=file:{tmp_path / 'own'}?size_gib=7", "ceph=rbd:volumes"]
    pools = host_pools(texts, state_dir=tmp_path, is_simulated=True)
    assert all(isinstance(each, MemoryBackend) for each in pools.backends.values())
    local, ceph = (pools.backends[name].report() for name in ("local", "ceph"))
    assert (local.kind, local.is_shared, local.total_bytes) == (PoolKind.FILE, False, 7 * 2**30)
    assert (ceph.kind, ceph.is_shared) == (PoolKind.RBD, True)
