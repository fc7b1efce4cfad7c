"""Why instances failed, in a heading, and what to do next."""

from django.utils.translation import gettext as _

from controlplane.kernel.reasons import RefusalReason
from controlplane.kernel.texts import gettext_noop
from servers.instances.selectors.failed_instances import FailureGroup

R = RefusalReason
_NO_ROOM = gettext_noop("Free some room, add a host, or use a smaller flavor.")
_TITLES: dict[RefusalReason, str] = {
    R.AMOUNT_NOT_ALLOWED: gettext_noop("Larger than any one host"),
    R.RAM_SHORT: gettext_noop("Not enough memory on any host"),
    R.VCPU_SHORT: gettext_noop("Not enough vCPUs on any host"),
    R.DISK_SHORT: gettext_noop("Not enough disk on any host"),
    R.RESOURCE_SHORT: gettext_noop("Not enough of a resource on any host"),
    R.NUMA_TOPOLOGY_MISSING: gettext_noop("No host with NUMA cells has room"),
    R.NUMA_CELLS_SHORT: gettext_noop("No host has enough NUMA cells"),
    R.PINNED_CPU_SHORT: gettext_noop("No free pinned CPUs"),
    R.WRONG_ZONE: gettext_noop("No host of the zone has room"),
    R.PCI_SHORT: gettext_noop("No host has such a PCI device free"),
    R.DISABLED: gettext_noop("All hosts that come into question are disabled"),
    R.DOWN: gettext_noop("All hosts that come into question are down"),
}
_STEPS: dict[RefusalReason, str] = {
    R.TRAIT_MISSING: gettext_noop("Give hosts the trait if they have what it stands for, or use another flavor."),
    R.AMOUNT_NOT_ALLOWED: gettext_noop("Use a smaller flavor, or add a larger host."),
    R.RAM_SHORT: _NO_ROOM,
    R.VCPU_SHORT: _NO_ROOM,
    R.DISK_SHORT: _NO_ROOM,
    R.RESOURCE_SHORT: _NO_ROOM,
    R.NUMA_TOPOLOGY_MISSING: gettext_noop(
        "Add hosts that report NUMA cells, or use a flavor that asks for fewer CPUs in one cell."
    ),
    R.PINNED_CPU_SHORT: gettext_noop("Set more CPUs of hosts aside to be pinned, or use a flavor with shared ones."),
    R.DISABLED: gettext_noop("Enable hosts."),
    R.DOWN: gettext_noop("Bring hosts back."),
}


def failure_title(group: FailureGroup, *, is_admin: bool) -> str:
    """What went wrong, in a few words. What the host said is for admins, where it is not the owner's fault."""
    if group.reason is None:
        said = (group.details.partition("\n")[0] if is_admin else "") or group.message.rpartition("): ")[2]
        return said.removesuffix(".") or _("Failed, and nobody said why")
    if group.reason.reason is R.TRAIT_MISSING and group.traits:
        return _("No host has the trait %(traits)s") % {"traits": ", ".join(group.traits)}
    if group.reason.reason in _TITLES:
        return _(_TITLES[group.reason.reason])
    return _("No host fits: %(reason)s") % {"reason": _(group.reason.reason.label)}


def failure_step(group: FailureGroup, *, is_admin: bool) -> str:
    """What to do next, in a sentence."""
    if group.reason is not None:
        step = _STEPS.get(group.reason.reason) if is_admin else None
        return _(step) if step else _("See what would help.")
    if group.hosts and is_admin:
        return _("Look at the host, then schedule it again.")
    return _("Read its journey, then schedule it again or delete it.")
