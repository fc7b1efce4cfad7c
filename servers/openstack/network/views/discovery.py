"""Version documents, and what the API can beyond its core."""

from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.faults import not_found
from servers.openstack.network.call import NetworkCall
from servers.openstack.network.extensions import EXTENSIONS
from servers.openstack.network.shapes import (
    CollectionJson,
    CollectionsShown,
    ExtensionShown,
    ExtensionsShown,
    NetworkVersionJson,
    NetworkVersionsShown,
)

COLLECTIONS = {
    "network": "networks",
    "subnet": "subnets",
    "port": "ports",
    "router": "routers",
    "floatingip": "floatingips",
    "security_group": "security-groups",
    "security_group_rule": "security-group-rules",
    "quota": "quotas",
    "extension": "extensions",
}


def version_list(call: NetworkCall) -> JsonAnswer[NetworkVersionsShown]:
    """All versions: one. No token is needed."""
    version: NetworkVersionJson = {
        "id": "v2.0",
        "status": "CURRENT",
        "links": [{"rel": "self", "href": call.absolute_url("v2.0", "")}],
    }
    return call.answer({"versions": [version]})


def resource_list(call: NetworkCall) -> JsonAnswer[CollectionsShown]:
    """What this version has, by collection."""
    resources: list[CollectionJson] = [
        {
            "name": name,
            "collection": path.replace("-", "_"),
            "links": [{"rel": "self", "href": call.absolute_url("v2.0", path)}],
        }
        for name, path in COLLECTIONS.items()
    ]
    return call.answer({"resources": resources})


def extensions_list(call: NetworkCall) -> JsonAnswer[ExtensionsShown]:
    """All of them, in one page."""
    return call.answer({"extensions": [call.chosen(each.document()) for each in EXTENSIONS]})


def extension_show(call: NetworkCall, alias: str) -> JsonAnswer[ExtensionShown]:
    """One by its alias; clients read the 404 as the answer that it is not there."""
    found = next((each for each in EXTENSIONS if each.alias == alias), None)
    if found is None:
        raise not_found(f"Extension with alias {alias:.80} does not exist.", code="ExtensionNotFound")
    return call.answer({"extension": call.chosen(found.document())})
