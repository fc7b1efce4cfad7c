"""Builds of one image wait for each other; one that waits too long says nothing against its host."""

from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.files import locked
from computeagent.drivers.libvirt.image_cache import ImageCache
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass


def test_download_of_another_build_that_takes_too_long_is_not_the_hosts_fault(
    guest_spec: GuestSpec, tmp_path: Path
) -> None:
    guest = replace(guest_spec, image_checksum="a" * 64)
    cache = ImageCache(tmp_path, wait_s=0.05)
    with locked(cache.path(guest).with_suffix(".lock")), pytest.raises(DriverError, match="0 s") as caught:
        cache.ensure(guest, lambda: iter([b"x"]))
    assert caught.value.failure_class is FailureClass.NETWORK
