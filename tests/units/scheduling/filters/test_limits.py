from dataclasses import replace

from controlplane.kernel.reasons import RefusalReason
from scheduling.decisions.ledger.trace_content import with_limits_known
from scheduling.domain.policy import Policy, PolicyOptions
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import schedule
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


def test_limits_go_along_with_the_hosts_that_pass_and_a_replay_of_an_older_trace_leaves_them_out() -> None:
    fleet = table(host("a"), host("b"))
    call = ScheduleCall(fleet, request(), Policy(filters=("NumInstancesFilter", "IoOpsFilter")), 7)
    now = schedule(call)
    older = schedule(replace(call, policy=Policy(filters=())))

    assert now.selections[0].selected.limits == {"max_instances_per_host": 50.0, "max_io_ops_per_host": 8.0}
    assert with_limits_known(now, now).selections == now.selections
    assert with_limits_known(now, older).selections[0].selected.limits == {}
