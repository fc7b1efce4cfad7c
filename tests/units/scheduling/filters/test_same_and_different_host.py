import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.different_host import DifferentHostFilter
from scheduling.filters.same_host import SameHostFilter
from tests.units.scheduling.worlds import host, reasons, refused, request, table

FLEET = table(host("a", instances=frozenset({"i1", "i2"})), host("b", instances=frozenset({"i3"})), host("c"))


@pytest.mark.parametrize(
    ("hint", "refused_hosts"),
    [((), set()), (("i1",), {"b", "c"}), (("i1", "i3"), {"c"}), (("gone",), {"a", "b", "c"})],
)
def test_same_host_needs_any_of_the_servers(hint: tuple[str, ...], refused_hosts: set[str]) -> None:
    found = refused(SameHostFilter(), FLEET, request(hints={"same_host": hint} if hint else {}))
    assert set(found) == refused_hosts


@pytest.mark.parametrize(
    ("hint", "refused_hosts"), [((), set()), (("i1",), {"a"}), (("i2", "i3"), {"a", "b"}), (("gone",), set())]
)
def test_different_host_must_hold_none_of_the_servers(hint: tuple[str, ...], refused_hosts: set[str]) -> None:
    found = refused(DifferentHostFilter(), FLEET, request(hints={"different_host": hint} if hint else {}))
    assert set(found) == refused_hosts


def test_reasons_name_the_rule() -> None:
    assert reasons(SameHostFilter(), FLEET, request(hints={"same_host": ("i3",)}))["a"] is RefusalReason.NOT_SAME_HOST
    found = refused(DifferentHostFilter(), FLEET, request(hints={"different_host": ("i3",)}))
    assert (found["b"].reason, found["b"].available) == (RefusalReason.NOT_DIFFERENT_HOST, "i3")
