"""How failed builds go on: each class by its rule, each row of Nova's table with an answer."""

import pytest

from computeagent.agent import failures
from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import KilonovaError
from servers.instances.domain.build_ends import FAILURE_RULES, NOVA_CAUSES, BuildEnd, NovaCause, may_go_on

ROWS = {row.cause: row for row in NOVA_CAUSES}


def test_classes_are_those_that_agents_report() -> None:
    assert set(FAILURE_RULES) == set(FailureClass)


@pytest.mark.parametrize(
    ("failure", "end", "counts"),
    [
        ("host", "reschedule", True),
        ("network", "reschedule", False),
        ("policy", "reschedule", False),
        ("user", "abort", False),
    ],
)
def test_class_of_failure_ends_by_its_rule(failure: str, end: str, counts: bool) -> None:
    rule = FAILURE_RULES[FailureClass(failure)]
    assert (rule.end, rule.counts_against_host) == (end, counts)


@pytest.mark.parametrize(
    ("cause", "nova", "failure", "end"),
    [
        ("claim refused", "reschedule", "host", "reschedule"),
        ("group policy violated", "reschedule", "policy", "reschedule"),
        ("anything else of the driver", "reschedule", "host", "reschedule"),
        ("no more addresses", "abort", "network", "reschedule"),
        ("network refused", "abort", "network", "reschedule"),
        ("flavor too small", "abort", "user", "abort"),
        ("image cannot be used", "abort", "user", "abort"),
        ("disk of the image is no disk", "abort", "user", "abort"),
        ("image is not the one that was stored", "abort", "network", "reschedule"),
        ("request contradicts itself", "abort", "user", "abort"),
        ("disks not prepared", "abort", "host", "reschedule"),
        ("volume cannot be encrypted", "abort", "host", "reschedule"),
        ("clean-up after a failure failed", "abort", None, "fail"),
        ("deleted meanwhile", "fail", None, "fail"),
    ],
)
def test_row_of_novas_table_ends_as_it_says(cause: str, nova: str, failure: str | None, end: str) -> None:
    row = ROWS[cause]
    assert (row.nova, row.failure, row.end) == (nova, failure, end)


def test_table_has_no_row_without_a_test_and_no_exception_twice() -> None:
    named = [name for row in NOVA_CAUSES for name in row.exceptions]
    assert len(ROWS) == len(NOVA_CAUSES) == 14
    assert len(named) == len(set(named))


@pytest.mark.parametrize("row", NOVA_CAUSES, ids=lambda row: row.cause)
def test_row_says_why_exactly_when_it_differs_from_nova(row: NovaCause) -> None:
    assert bool(row.differs) == (row.end is not row.nova)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (failures.ComputeResourcesUnavailable("full"), "claim refused"),
        (failures.HostTopologyChanged("gone"), "claim refused"),
        (failures.GroupPolicyViolated("two on one"), "group policy violated"),
        (failures.GuestContradicts("both"), "request contradicts itself"),
        (failures.NetworkRefused("no MAC"), "network refused"),
        (DriverError("no KVM"), "anything else of the driver"),
    ],
)
def test_agent_reports_the_class_of_its_row(error: DriverError | KilonovaError, cause: str) -> None:
    assert failures.failure_of("spawning", error).failure_class.value == ROWS[cause].failure


@pytest.mark.parametrize(
    ("failure", "attempts", "is_host_forced", "goes_on"),
    [
        ("host", 1, False, True),
        ("host", 3, False, False),
        ("host", 1, True, False),
        ("network", 2, False, True),
        ("policy", 2, False, True),
        ("user", 1, False, False),
    ],
)
def test_next_host_is_tried_while_class_attempts_and_request_allow(
    failure: str, attempts: int, is_host_forced: bool, goes_on: bool
) -> None:
    found = may_go_on(FailureClass(failure), attempts=attempts, attempts_allowed=3, is_host_forced=is_host_forced)
    assert found is goes_on


def test_end_of_a_build_that_is_not_reported_is_no_abort() -> None:
    assert {row.end for row in NOVA_CAUSES if row.failure is None} == {BuildEnd.FAIL}
