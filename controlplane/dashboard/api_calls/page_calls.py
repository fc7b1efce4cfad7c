"""Pages as calls: what of `/api/` gives a program what a page shows a person."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from controlplane.dashboard.api_calls.calls import ApiCall

LISTS: Mapping[str, str] = {
    "instances": "/instances/",
    "images": "/images/",
    "flavors": "/flavors/",
    "keypairs": "/keypairs/",
    "server-groups": "/server-groups/",
    "networks": "/networks/",
    "ports": "/ports/",
    "routers": "/routers/",
    "floating-ips": "/floating-ips/",
    "security-groups": "/security-groups/",
    "volumes": "/volumes/",
    "volume-snapshots": "/volume-snapshots/",
    "volume-backups": "/volume-backups/",
    "volume-types": "/volume-types/",
    "storage-pools": "/storage-pools/",
    "hosts": "/hosts/",
    "aggregates": "/aggregates/",
    "providers": "/resource-providers/",
    "work": "/work/",
    "drift": "/drift/",
    "heals": "/heals/",
    "bulk-jobs": "/bulk-jobs/",
    "audit-log": "/audit-log/",
    "decisions": "/decisions/",
    "policies": "/policies/",
    "webhooks": "/webhooks/",
    "projects": "/projects/",
    "users": "/users/",
    "user-groups": "/groups/",
    "saved-views": "/saved-views/",
    "capacity-matrix": "/capacity/",
    "search": "/search/",
}
"""Lists by the name of their address: their filters are those of the API, by the same names."""
BESIDES_FILTERS: Mapping[str, frozenset[str]] = {
    "instances": frozenset({"all_projects"}),
    "search": frozenset({"q"}),
}
"""What else the API takes there by the name that the page has for it."""
THINGS: Mapping[str, str] = {
    "instance": "/instances/{instance_id}/",
    "instance-console": "/instances/{instance_id}/console-log/",
    "image": "/images/{image_id}/",
    "flavor": "/flavors/{flavor_id}/",
    "server-group": "/server-groups/{group_id}/",
    "network": "/networks/{network_id}/",
    "port": "/ports/{port_id}/",
    "router": "/routers/{router_id}/",
    "security-group": "/security-groups/{group_id}/",
    "volume": "/volumes/{volume_id}/",
    "storage-pool": "/storage-pools/{pool_id}/",
    "host": "/compute-nodes/?host={host}",
    "provider": "/resource-providers/{provider_uuid}/",
    "bulk-job": "/bulk-jobs/{job_id}/",
    "decision": "/decisions/{decision_id}/",
    "policy": "/policies/{policy_id}/",
    "project": "/projects/{project_id}/",
    "user": "/users/{user_id}/",
    "user-group": "/groups/{user_group_id}/",
}
"""Pages of one thing."""
Besides = Mapping[str, tuple[tuple[str, str, str, Mapping[str, Any] | None], ...]]
BESIDES: Besides = {
    "router": (("POST", "/routers/{router_id}/add-interface/", "Joins a subnet", {"subnet": "ID-OF-THE-SUBNET"}),),
    "instance": (
        ("GET", "/instances/{instance_id}/journey/", "Its journey", None),
        ("GET", "/instances/{instance_id}/actions/", "What may be done to it now, and why not", None),
        ("POST", "/instances/{instance_id}/actions/", "Each button without a page of its own", {"action": "stop"}),
    ),
    "volume": (
        (
            "POST",
            "/instances/ID-OF-AN-INSTANCE/volumes/",
            "Give it to an instance",
            {"volume": "{volume_id}", "tag": "data", "read_only": False, "delete_on_termination": False},
        ),
        ("POST", "/volumes/{volume_id}/extend/", "Have it grow", {"size_gib": 20}),
        ("POST", "/volume-snapshots/", "Take a snapshot", {"volume": "{volume_id}", "name": "before"}),
        ("POST", "/volume-backups/", "Back it up", {"volume": "{volume_id}", "incremental": True, "full_after": 6}),
        ("POST", "/volume-backups/ID-OF-A-BACKUP/restore/", "Get what a backup has", {"volume": "{volume_id}"}),
        ("DELETE", "/volumes/{volume_id}/?with_snapshots=1", "Delete it with its snapshots", None),
    ),
}
"""{page: (method, path, what it does, body)} of other calls that belong to a page. Texts of paths and bodies may name
what the page's address names.
"""
BESIDES_OF_ADMINS: Besides = {
    "router": (("POST", "/routers/{router_id}/move/", "Moves it to another host", {"host": "NAME-OF-THE-HOST"}),),
}
"""And of those that are for administrators."""


def page_calls(
    url_name: str,
    kwargs: Mapping[str, Any],
    asked: Iterable[tuple[str, str]],
    filters: Iterable[str] | None,
    *,
    is_admin: bool = False,
) -> list[ApiCall]:
    """What gives what this page shows. `asked` is the page's query; of it `filters` are the API's too."""
    if url_name in LISTS:
        known = {*(filters or ()), *BESIDES_FILTERS.get(url_name, ())}
        pairs = [(name, text) for name, text in asked if name in known and text]
        query = f"?{urlencode(pairs)}" if pairs else ""
        return [ApiCall("GET", LISTS[url_name] + query)]
    if url_name not in THINGS:
        return []
    safe = {name: quote(str(value), safe="") for name, value in kwargs.items()}
    besides = (*BESIDES.get(url_name, ()), *(BESIDES_OF_ADMINS.get(url_name, ()) if is_admin else ()))
    others = [ApiCall(method, path.format(**safe), _filled(body, safe), about) for method, path, about, body in besides]
    return [ApiCall("GET", THINGS[url_name].format(**safe)), *others]


def _filled(body: Mapping[str, Any] | None, names: Mapping[str, str]) -> Mapping[str, Any] | None:
    if body is None:
        return None
    return {key: value.format(**names) if isinstance(value, str) else value for key, value in body.items()}
