"""Facts about the instances on each host that previews of policies need, beyond their uuids."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from django.db.models import Count, Q, QuerySet

from scheduling.domain.policy import Policy
from scheduling.fleet.cache.host_metrics import has_plugins
from scheduling.fleet.facts import HostInstances
from servers.instances.selectors.host_stats import host_stats
from servers.instances.selectors.scheduling_facts import IMAGE_PROPERTIES, IO_TASKS, TYPE_AFFINITY
from servers.models import Instance
from servers.states import VmState


def instance_preview_facts(policies: Sequence[Policy]) -> dict[str, HostInstances]:
    """The facts by host. Flavors and images are read only where one of these policies needs them."""
    living = Instance.objects.filter(deleted_at__isnull=True).exclude(host="").order_by()
    is_busy = Q(vm_state=VmState.BUILDING) | Q(task_state__in=IO_TASKS)
    flavors = _flavors(living) if any(TYPE_AFFINITY in each.filters for each in policies) else {}
    images = _images(living) if any(_weighs_images(each) for each in policies) else {}
    stats = host_stats() if any(map(has_plugins, policies)) else {}
    counts = living.values_list("host").annotate(io_ops=Count("pk", filter=is_busy), instances=Count("pk"))
    return {
        host: HostInstances(
            num_instances=instances,
            num_io_ops=io_ops,
            flavor_ids=flavors.get(host, frozenset()),
            image_properties=images.get(host, {}),
            stats=stats.get(host, {}),
        )
        for host, io_ops, instances in counts
    }


def _weighs_images(policy: Policy) -> bool:
    return any(each.name == IMAGE_PROPERTIES and each.multiplier for each in policy.weighers)


def _flavors(living: QuerySet[Instance]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for host, flavor_id in living.values_list("host", "flavor_id").distinct():
        found[host].add(str(flavor_id))
    return {host: frozenset(ids) for host, ids in found.items()}


def _images(living: QuerySet[Instance]) -> dict[str, Counter[tuple[str, str]]]:
    found: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for host, image in living.values_list("host", "image"):
        found[host].update((name, str(value)) for name, value in (image.get("properties") or {}).items())
    return found
