"""Instances on hosts that are silent: nothing is known of them now, and what is asked for waits."""

from collections.abc import Collection

from scheduling.fleet.selectors.liveness import HostLiveness, SilentHost, hosts_liveness, hosts_silent
from servers.conf import server_options
from servers.instances.actions.lifecycle import DELETE, FORCE_DELETE
from servers.instances.actions.rule import ActionRule, work_deadline_s
from servers.models import Instance


def silence_of(instance: Instance) -> SilentHost | None:
    """The host that it is on, where that is silent. One query, none for an instance on no host."""
    return hosts_silent([instance.host]).get(instance.host) if instance.host else None


def liveness_of(instances: Collection[Instance]) -> dict[str, HostLiveness]:
    """How the hosts that these are on are, by name. One query, none where all are on no host."""
    return hosts_liveness({one.host for one in instances if one.host})


def wait_s(rule: ActionRule, instance: Instance) -> float:
    """For how many seconds at most an action waits for a host that is silent; 0: it has nothing to do there."""
    if rule.work is None and rule not in (DELETE, FORCE_DELETE):
        return 0.0
    return work_deadline_s(rule, instance) or server_options().build_deadline_s
