"""Sizes, names, metadata and limits of volumes, and the rules of types, without a database."""

import uuid

import pytest

from computeagent.protocol.volumes import NO_QOS, VolumeQos, VolumeSourceKind
from servers.volumes.domain.volume_types import VolumeTypeRequest, volume_type_problems
from servers.volumes.domain.volumes import (
    SourceFacts,
    TypeRules,
    VolumeRequest,
    extend_problems,
    gib_of,
    metadata_reasons,
    qos_of,
    size_chosen,
    size_problems,
    volume_problems,
)


def test_blank_volume_needs_a_size_and_has_no_source():
    assert volume_problems(VolumeRequest(size_gib=1)) == {}
    assert list(volume_problems(VolumeRequest())) == ["size_gib"]
    assert list(volume_problems(VolumeRequest(size_gib=0))) == ["size_gib"]
    assert list(volume_problems(VolumeRequest(size_gib=1, source_id=uuid.uuid4()))) == ["source_id"]


def test_source_needs_an_id_and_no_size():
    assert list(volume_problems(VolumeRequest(source_kind=VolumeSourceKind.IMAGE))) == ["source_id"]
    assert volume_problems(VolumeRequest(source_kind=VolumeSourceKind.IMAGE, source_id=uuid.uuid4())) == {}


def test_texts_that_no_column_holds_are_refused_by_field():
    wrong = volume_problems(VolumeRequest(size_gib=1, name="n" * 256, description="\x00", availability_zone="z" * 256))
    assert set(wrong) == {"name", "description", "availability_zone"}


@pytest.mark.parametrize(
    "metadata",
    [{"": "v"}, {"k" * 256: "v"}, {"k": "v" * 256}, {"k": "\x00"}, {"k": 1}, {str(n): "" for n in range(129)}, ["k"]],
)
def test_metadata_that_is_refused(metadata):
    assert metadata_reasons(metadata)


def test_size_is_that_of_the_source_where_none_is_asked_for():
    assert size_chosen(None, SourceFacts(7, "the image")) == 7
    assert size_chosen(9, SourceFacts(7, "the image")) == 9
    assert gib_of(1) == 1
    assert gib_of(2**30) == 1
    assert gib_of(2**30 + 1) == 2


def test_size_is_refused_with_numbers():
    rules = TypeRules("fast", min_gib=5, max_gib=10)
    assert size_problems(7, rules=rules) == {}
    assert "fast have at least 5" in size_problems(4, rules=rules)["size_gib"][0]
    assert "fast have at most 10" in size_problems(11, rules=rules)["size_gib"][0]
    assert "snapshot s needs 8" in size_problems(7, rules=rules, source=SourceFacts(8, "snapshot s"))["size_gib"][0]


def test_volume_only_grows():
    assert extend_problems(11, now_gib=10, rules=TypeRules()) == {}
    assert "it only grows" in extend_problems(10, now_gib=10, rules=TypeRules())["size_gib"][0]
    assert extend_problems(True, now_gib=1, rules=TypeRules())
    assert extend_problems(2**31, now_gib=1, rules=TypeRules())
    assert extend_problems(12, now_gib=10, rules=TypeRules("t", max_gib=11))


def test_limits_grow_with_the_volume():
    assert qos_of(TypeRules(), 10) == NO_QOS
    rules = TypeRules("t", qos={"total_iops": 100}, qos_per_gib={"total_iops": 5, "read_bytes": 7})
    assert qos_of(rules, 10) == VolumeQos(total_iops=150, read_bytes=70)


@pytest.mark.parametrize(
    ("field", "request_"),
    [
        ("name", VolumeTypeRequest(name="")),
        ("kinds", VolumeTypeRequest(name="t", kinds=("tape",))),
        ("pools", VolumeTypeRequest(name="t", pools=("p" * 65,))),
        ("is_default", VolumeTypeRequest(name="t", is_public=False, is_default=True)),
        ("is_multiattach", VolumeTypeRequest(name="t", is_encrypted=True, is_multiattach=True)),
        ("qos", VolumeTypeRequest(name="t", qos={"iops": 1})),
        ("qos", VolumeTypeRequest(name="t", qos={"total_iops": -1})),
        ("qos", VolumeTypeRequest(name="t", qos={"total_iops": 1, "read_iops": 1})),
        ("qos_per_gib", VolumeTypeRequest(name="t", qos={"total_iops": 1}, qos_per_gib={"read_iops": 1})),
        ("max_gib", VolumeTypeRequest(name="t", min_gib=5, max_gib=4)),
    ],
)
def test_type_that_is_refused(field, request_):
    assert list(volume_type_problems(request_)) == [field]


def test_type_that_is_allowed():
    wanted = VolumeTypeRequest(
        name="fast", kinds=("rbd",), pools=("ceph",), qos={"read_iops": 5}, qos_per_gib={"write_iops": 1}, max_gib=9
    )
    assert volume_type_problems(wanted) == {}
