import pytest

from scheduling.domain.hosts.host_state import HostState
from scheduling.filters.host_attributes import attribute_column
from tests.units.scheduling.worlds import aggregate, every, host, table

FLEET = table(
    host("a", num_instances=2, stats={"x": 1}, hypervisor_type="QEMU", host_ip="10.0.0.1"),
    host("b", instances=frozenset({"i"}), cpu_info={"vendor": "AMD"}, metrics={"load": 1}),
    aggregates=(aggregate("north", "b", availability_zone="north"),),
)


@pytest.mark.parametrize(
    "name",
    sorted(name for name in set(vars(HostState(FLEET, 0))) - {"limits", "aggregates", "service"} if name[0] != "_"),
)
def test_column_has_the_values_of_the_host_states(name: str) -> None:
    column = attribute_column(every(FLEET), name)
    assert column is not None
    assert [column[row] for row in range(2)] == [getattr(HostState(FLEET, row), name) for row in range(2)]


def test_name_that_host_states_do_not_have_is_none() -> None:
    assert attribute_column(every(FLEET), "__class__") is None
    assert attribute_column(every(FLEET), "rack") is None


def test_host_without_an_address_has_none() -> None:
    column = attribute_column(every(FLEET), "host_ip")
    assert column is not None
    assert [column[row] for row in range(2)] == ["10.0.0.1", None]


@pytest.mark.parametrize("name", ["instances", "updated", "_details", "_known_instances"])
def test_what_is_read_for_plug_ins_alone_cannot_be_asked_about(name: str) -> None:
    hosts = every(FLEET)
    assert (len(hosts.state(1).instances), hosts.state(1).updated) == (1, None)
    assert attribute_column(hosts, name) is None
