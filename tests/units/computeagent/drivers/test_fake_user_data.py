"""The fake hypervisor reads what a real one would write on the config drive, so that no test passes by not looking."""

from dataclasses import replace

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.fake import FakeDriver
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass


def test_user_data_with_line_breaks_is_taken(guest_spec: GuestSpec) -> None:
    FakeDriver("n").prepare_disks(replace(guest_spec, user_data_base64="aGVs\nbG8=\n"))


def test_user_data_that_is_not_base64_is_the_users_fault(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="not base64") as caught:
        FakeDriver("n").prepare_disks(replace(guest_spec, user_data_base64="***"))

    assert caught.value.failure_class is FailureClass.USER
