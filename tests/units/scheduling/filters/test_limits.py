from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.policy import PolicyOptions
from scheduling.filters.all_hosts import AllHostsFilter
from scheduling.filters.io_ops import IoOpsFilter
from scheduling.filters.num_instances import NumInstancesFilter
from tests.units.scheduling.worlds import host, reasons, refused, request, table


def test_io_ops_at_the_limit_is_refused() -> None:
    fleet = table(host("below", num_io_ops=7), host("at", num_io_ops=8))
    refusal = refused(IoOpsFilter(), fleet, request())
    assert set(refusal) == {"at"}
    assert (refusal["at"].reason, refusal["at"].available, refusal["at"].wanted) == (RefusalReason.IO_OPS, 8, 8)


def test_io_ops_limit_comes_from_the_policy() -> None:
    fleet = table(host("busy", num_io_ops=2))
    assert refused(IoOpsFilter(), fleet, request(), PolicyOptions(max_io_ops_per_host=3)) == {}
    assert set(refused(IoOpsFilter(), fleet, request(), PolicyOptions(max_io_ops_per_host=2))) == {"busy"}


def test_num_instances_at_the_limit_is_refused() -> None:
    fleet = table(host("below", num_instances=49), host("at", num_instances=50))
    assert reasons(NumInstancesFilter(), fleet, request()) == {"at": RefusalReason.NUM_INSTANCES}


def test_all_hosts_refuses_nobody() -> None:
    assert refused(AllHostsFilter(), table(host("a", up=False, enabled=False)), request()) == {}
