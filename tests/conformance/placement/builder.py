"""Makes a world over HTTP, one step of the suite's own size at a time, and clears what is there.

Each inventory is stated by a request of its own, because the files assert on generations, which count requests.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from tests.conformance.placement.service import Service
from tests.conformance.placement.shapes import Holding, Node, World
from tests.conformance.placement.worlds import COMMON_NAMES, COMMON_UUIDS

CUSTOM = "CUSTOM_"


def build(service: Service, world: World) -> dict[str, str]:
    """Make the world on an empty service. The variables that its file may name, with their values."""
    variables = {name: str(uuid4()) for name in (*COMMON_UUIDS, *world.fresh_uuids)} | COMMON_NAMES
    for node, parent in world.levels():
        _make_provider(service, node, parent, variables)
    for holding in world.holdings:
        _allocate(service, holding, variables)
    return variables


def clear(service: Service) -> None:
    """Remove every allocation, provider, custom resource class and custom trait."""
    providers = service.providers()
    for consumer in {one for provider in providers for one in service.consumers_of(provider["uuid"])}:
        service.call("DELETE", f"/allocations/{consumer}", "1.0")
    for uuid in leaves_first(providers):
        service.call("DELETE", f"/resource_providers/{uuid}", "1.0")
    for each in service.call("GET", "/resource_classes", "1.2")["resource_classes"]:
        if each["name"].startswith(CUSTOM):
            service.call("DELETE", f"/resource_classes/{each['name']}", "1.2")
    for name in service.call("GET", f"/traits?name=startswith:{CUSTOM}", "1.6")["traits"]:
        service.call("DELETE", f"/traits/{name}", "1.6")


def leaves_first(providers: Iterable[dict[str, Any]]) -> list[str]:
    """The uuids in an order in which each can be deleted: no provider before one that is below it."""
    parents = {each["uuid"]: each["parent_provider_uuid"] for each in providers}

    def depth(uuid: str) -> int:
        parent = parents[uuid]
        return 0 if parent is None else 1 + depth(parent)

    return sorted(parents, key=depth, reverse=True)


def _make_provider(service: Service, node: Node, parent: Node | None, variables: dict[str, str]) -> None:
    uuid = variables.setdefault(node.variable, str(uuid4()))
    body = {"uuid": uuid, "name": variables[node.name_variable] if node.name_variable else node.name}
    if parent is not None:
        body["parent_provider_uuid"] = variables[parent.variable]
    service.call("POST", "/resource_providers", "1.14", body)
    path = f"/resource_providers/{uuid}"
    if node.aggregates:
        members = [variables.setdefault(name, str(uuid4())) for name in node.aggregates]
        service.call("PUT", f"{path}/aggregates", "1.1", members)
    for name, stock in node.stocks.items():
        if name.startswith(CUSTOM):
            service.call("PUT", f"/resource_classes/{quote(name)}", "1.7")
        service.call("POST", f"{path}/inventories", "1.26", {"resource_class": name, **stock.as_json()})
    if node.traits:
        _set_traits(service, path, node.traits)


def _set_traits(service: Service, path: str, traits: Iterable[str]) -> None:
    for name in traits:
        if name.startswith(CUSTOM):
            service.call("PUT", f"/traits/{quote(name)}", "1.6")
    generation = service.call("GET", path, "1.0")["generation"]
    body = {"resource_provider_generation": generation, "traits": list(traits)}
    service.call("PUT", f"{path}/traits", "1.6", body)


def _allocate(service: Service, holding: Holding, variables: dict[str, str]) -> None:
    consumer = variables.setdefault(holding.consumer_variable, str(uuid4()))
    body = {
        "allocations": {variables[holding.provider]: {"resources": dict(holding.amounts)}},
        "project_id": variables.get(holding.project, holding.project),
        "user_id": variables.get(holding.user, holding.user),
        "consumer_generation": None,
    }
    service.call("PUT", f"/allocations/{consumer}", "1.28", body)
