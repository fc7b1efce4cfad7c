"""What an owner gave the guest to read at its first boot: the same bytes whatever driver makes the config drive."""

import base64
import binascii

from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass


def injected_files(guest: GuestSpec) -> dict[str, bytes]:
    """What is in the files that its owner gave, by path in the guest. Raises DriverError (USER)."""
    try:
        return {each.path: base64.b64decode(each.content_base64, validate=True) for each in guest.first_boot.files}
    except (binascii.Error, ValueError) as error:
        raise DriverError("an injected file is not base64", failure_class=FailureClass.USER) from error


def user_data_bytes(guest: GuestSpec) -> bytes:
    """The decoded user data; `base64` wraps its lines, so white space is passed over. Raises DriverError (USER)."""
    try:
        return base64.b64decode("".join(guest.user_data_base64.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise DriverError("user data is not base64", failure_class=FailureClass.USER) from error
