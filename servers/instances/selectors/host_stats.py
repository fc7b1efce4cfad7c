"""Nova's `stats` of hosts that count instances: by state, task, project and operating system; and who asks for them."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from django.db.models import Count
from django.db.models.fields.json import KT

from controlplane.infra.ttl_cache import TtlCache
from servers.instances.domain.bodies import SpecBody
from servers.models import Instance

CACHED_S = 5.0
"""Nova's agents report these once a minute; counting the instances of a large installation takes a while."""
SCOPE = "capabilities:"
COUNTED = ("num_vm_", "num_task_", "num_os_type_", "num_proj_")

Stats = Mapping[str, Mapping[str, int]]
_cache: TtlCache[Stats] = TtlCache()


def host_stats() -> Stats:
    """As `stats_by_host` says, up to CACHED_S seconds ago."""
    return _cache.get(stats_by_host, fresh_s=CACHED_S)


def host_stats_forget() -> None:
    """Count anew next time."""
    _cache.forget()


def stats_by_host() -> Stats:
    """{host: counts by Nova's names}: `num_vm_active`, `num_task_None`, `num_os_type_linux`. One query."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    living = Instance.objects.filter(deleted_at__isnull=True).exclude(host="").order_by()
    os_type_of = KT("image__properties__os_type")
    rows = living.values_list("host", "vm_state", "task_state", "project_id", os_type_of)
    for host, vm_state, task_state, project_id, os_type, many in rows.annotate(many=Count("pk")):
        named = (f"vm_{vm_state}", f"task_{task_state or None}", f"proj_{project_id}", f"os_type_{os_type or None}")
        for name in named:
            found[host][f"num_{name}"] += many
    return found


def asks_stats(asked: SpecBody) -> bool:
    """Whether the flavor looks at counts that are made for nobody else."""
    paths = (key.removeprefix(SCOPE).removeprefix("stats:") for key in asked.flavor.extra_specs)
    return any(path.startswith(COUNTED) for path in paths)


def asks_metrics(asked: SpecBody) -> bool:
    """Whether the flavor or the request's query looks at what hosts measured."""
    by_flavor = any(key.startswith(f"{SCOPE}metrics") for key in asked.flavor.extra_specs)
    return by_flavor or "$metrics" in str(_query(asked.hints))


def _query(hints: Mapping[str, Any]) -> Any:
    return hints.get("query", "")
