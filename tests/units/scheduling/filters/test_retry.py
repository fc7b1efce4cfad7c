from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.retry import RetryFilter
from tests.units.scheduling.worlds import host, reasons, refused, request, table

FLEET = table(host("a"), host("a", nodename="a2.lab", uuid="uuid-a2"), host("b"))


def test_pair_that_was_tried_is_refused() -> None:
    groups = reasons(RetryFilter(), FLEET, request(retry=(("b", "b.lab"), ("gone", "gone.lab"))))
    assert groups == {"b": RefusalReason.TRIED_BEFORE}


def test_other_node_of_the_same_host_passes() -> None:
    assert refused(RetryFilter(), table(host("a")), request(retry=(("a", "a2.lab"),))) == {}
    assert set(refused(RetryFilter(), FLEET, request(retry=(("a", "a2.lab"),)))) == {"a"}


def test_nothing_tried_passes() -> None:
    assert refused(RetryFilter(), FLEET, request()) == {}
