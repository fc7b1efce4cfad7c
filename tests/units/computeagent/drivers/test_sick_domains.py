"""Domains that cannot be read, and a libvirtd that goes away in the middle of a listing."""

from typing import Any

import pytest

from computeagent.drivers.libvirt.binding import LibvirtError, libvirt
from computeagent.drivers.libvirt.domains import live_xml_or_none, metadata_of, running_guests

pytestmark = pytest.mark.libvirt


def failure(code: str) -> Exception:
    """The exception that libvirt raises with this code."""

    class Failure(LibvirtError):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            Exception.__init__(self, code)
            self.err = None

        def get_error_code(self) -> int:
            return int(getattr(libvirt, code))

        def get_error_message(self) -> str:
            return code

    return Failure()


class Domain:
    """Answers, or fails with `error`."""

    def __init__(self, *, error: str = "", memory_kib: int = 1024, is_active: bool = True) -> None:
        self.error = error
        self.memory_kib = memory_kib
        self.is_active = is_active

    def _answer(self, value: Any) -> Any:
        if self.error:
            raise failure(self.error)
        return value

    def metadata(self, *_args: object) -> Any:
        return self._answer("<nonsense/>")

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        return self.is_active

    def XMLDesc(self, _flags: int) -> Any:  # noqa: N802
        return self._answer("<domain/>")

    def info(self) -> Any:
        return self._answer([1, self.memory_kib, self.memory_kib, 2, 0])


@pytest.mark.parametrize("code", ["VIR_ERR_NO_DOMAIN_METADATA", "VIR_ERR_NO_DOMAIN"])
def test_domain_without_our_mark_or_gone_is_not_ours(code: str) -> None:
    assert metadata_of(Domain(error=code)) is None


@pytest.mark.parametrize("code", ["VIR_ERR_RPC", "VIR_ERR_SYSTEM_ERROR", "VIR_ERR_OPERATION_TIMEOUT"])
def test_domain_that_cannot_be_asked_is_not_taken_for_somebody_elses(code: str) -> None:
    with pytest.raises(LibvirtError):
        metadata_of(Domain(error=code))


def test_sick_or_vanished_domain_does_not_keep_the_others_from_being_counted() -> None:
    domains = [
        Domain(),
        Domain(error="VIR_ERR_OPERATION_TIMEOUT"),
        Domain(error="VIR_ERR_NO_DOMAIN"),
        Domain(memory_kib=2048),
    ]
    assert [info[1] for info in running_guests(domains)] == [1024, 2048]


def test_domain_that_vanished_or_is_off_has_no_live_definition() -> None:
    """A guest that goes while somebody looks for the volume of another one is no reason to fail him."""
    domains = [Domain(), Domain(error="VIR_ERR_NO_DOMAIN"), Domain(is_active=False)]
    assert [live_xml_or_none(domain) for domain in domains] == ["<domain/>", None, None]


def test_domain_that_cannot_be_asked_is_not_taken_for_one_that_is_off() -> None:
    with pytest.raises(LibvirtError):
        live_xml_or_none(Domain(error="VIR_ERR_OPERATION_TIMEOUT"))
