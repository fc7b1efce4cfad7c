"""Whatever a request says of its disks: it is refused by name, or what is decided holds together."""

import uuid
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from computeagent.protocol.guest_disks import DISK_BUSES
from scheduling.domain.snapshots import FlavorSnapshot
from servers.instances.domain.block_device_rules import DiskSurroundings, SourceFound, block_devices_decide
from servers.instances.domain.block_device_words import KEYS, block_devices_parse
from servers.volumes.domain.block_device_faults import FIELD, problems_by_field
from servers.volumes.domain.block_devices import BlockDevice

IDS = [str(uuid.UUID(int=number)) for number in range(1, 5)]
DEVICE = st.fixed_dictionaries(
    {"source_type": st.sampled_from(["image", "volume", "snapshot", "blank"])},
    optional={
        "destination_type": st.sampled_from(["local", "volume"]),
        "uuid": st.sampled_from(IDS),
        "boot_index": st.sampled_from([None, -1, 0, 1, "0", 2]),
        "volume_size": st.sampled_from([None, 0, 1, 5, "7", 600]),
        "delete_on_termination": st.sampled_from([True, False, None]),
        "disk_bus": st.sampled_from(["", *DISK_BUSES]),
        "device_name": st.sampled_from(["", "vda", "/dev/vdb", "sda", "hda"]),
        "device_type": st.sampled_from(["disk", "cdrom"]),
        "guest_format": st.sampled_from(["", "swap", "ext4"]),
        "tag": st.sampled_from(["", "a", "b"]),
    },
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner),
    max_leaves=12,
)
AROUND = st.builds(
    DiskSurroundings,
    st.builds(
        FlavorSnapshot,
        id=st.just("f"),
        name=st.just("f"),
        vcpus=st.just(1),
        memory_mib=st.just(1),
        root_gib=st.sampled_from([0, 10]),
        ephemeral_gib=st.sampled_from([0, 8]),
        swap_mib=st.sampled_from([0, 512]),
    ),
    st.sampled_from([None, uuid.UUID(IDS[0])]),
    bus=st.sampled_from(["virtio", "sata", "ide"]),
    count=st.sampled_from([1, 2]),
)


@settings(max_examples=60)
@given(JSON)
def test_no_json_breaks_the_reading(value: Any) -> None:
    _, problems = block_devices_parse(value)
    assert all(field.startswith(FIELD) and all(texts) for field, texts in problems_by_field(problems).items())


@settings(max_examples=60)
@given(st.lists(DEVICE, max_size=4), AROUND)
def test_what_is_decided_holds_together(value: list[dict[str, Any]], around: DiskSurroundings) -> None:
    wanted, problems = block_devices_parse(value)
    sources = {one.number: SourceFound(uuid.UUID(one.reference), 1, 5) for one in wanted if one.reference}
    if problems:
        return
    devices, problems = block_devices_decide(wanted, sources, {}, around)
    if problems:
        return
    indexes = sorted(one.boot_index for one in devices if one.boot_index >= 0)
    assert indexes == list(range(len(indexes)))
    assert indexes
    names = [one.device for one in devices]
    assert len(set(names)) == len(names)
    assert all(one.device.startswith(DISK_BUSES[one.disk_bus]) for one in devices)
    flavor = around.flavor
    assert sum(one.size_gib for one in devices if one.local_kind == "ephemeral") == flavor.ephemeral_gib or wanted
    assert sum(one.size_gib for one in devices if one.local_kind == "ephemeral") <= flavor.ephemeral_gib
    assert sum(one.size_mib for one in devices) <= flavor.swap_mib
    assert all(one.size_gib > 0 for one in devices if one.makes_volume)
    assert all(one.delete_on_termination for one in devices if one.is_local)
    assert not (around.count > 1 and any(one.is_named_volume for one in devices))
    assert [BlockDevice.from_dict(one.to_dict()) for one in devices] == list(devices)
