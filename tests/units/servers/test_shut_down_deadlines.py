"""Nobody gives a host's work up while it still gives the guest its time to shut down."""

from computeagent.conf import HostSettings
from computeagent.protocol.shut_down import SHUTDOWN_TIMEOUT_MAX_S
from controlplane.kernel.settings import settings_of
from servers.instances.actions.power import REBOOT_SOFT
from servers.instances.actions.rule import MOMENTS_S
from servers.instances.actions.table import ACTIONS


def test_work_that_shuts_a_guest_down_outlasts_the_most_that_a_host_may_give() -> None:
    rules = [rule for rule in ACTIONS.values() if rule.deadline_s and (rule.shuts_down or rule is REBOOT_SOFT)]
    assert len(rules) > 4
    for rule in rules:
        assert rule.deadline_s >= SHUTDOWN_TIMEOUT_MAX_S + MOMENTS_S, rule.name


def test_a_host_is_set_no_longer_times_than_deadlines_count_with() -> None:
    settings = settings_of(HostSettings)
    for name in ("shutdown_timeout_s", "soft_reboot_timeout_s"):
        assert settings[name].max_value == SHUTDOWN_TIMEOUT_MAX_S
