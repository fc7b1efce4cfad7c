"""A guest that drivers are asked about."""

import pytest

from computeagent.protocol.guests import GuestSpec


@pytest.fixture
def guest_spec() -> GuestSpec:
    """A small guest of a raw image."""
    return GuestSpec(
        uuid="f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
        name="web-1",
        project_id="p1",
        vcpus=1,
        memory_mib=64,
        root_gib=1,
        ephemeral_gib=0,
        swap_mib=0,
        image_id="i1",
        image_checksum="",
        image_size_bytes=0,
        image_disk_format="raw",
    )
