from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.compute import ComputeFilter
from tests.units.scheduling.worlds import host, reasons, refused, request, table


def test_enabled_and_up_passes() -> None:
    assert refused(ComputeFilter(), table(host("a")), request()) == {}


def test_disabled_host_is_refused_with_the_operators_words() -> None:
    refusal = refused(ComputeFilter(), table(host("a", enabled=False, status_detail="new disks")), request())["a"]
    assert (refusal.reason, refusal.detail) == (RefusalReason.DISABLED, "new disks")


def test_host_that_is_down_is_refused() -> None:
    found = reasons(ComputeFilter(), table(host("a", up=False), host("b")), request())
    assert found == {"a": RefusalReason.DOWN}


def test_disabled_and_down_counts_as_disabled() -> None:
    found = reasons(ComputeFilter(), table(host("a", up=False, enabled=False)), request())
    assert found == {"a": RefusalReason.DISABLED}
