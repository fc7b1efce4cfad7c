"""Regions, services and endpoints: what the catalog is made of. They follow from the doors, and nobody edits them."""

from controlplane.identity.openstack.call import IdentityCall
from controlplane.identity.openstack.catalog import REGION, SERVICES, CatalogService, endpoint_rows, service_found
from controlplane.identity.openstack.shapes import (
    EndpointJson,
    EndpointRow,
    EndpointShown,
    EndpointsShown,
    RegionJson,
    RegionShown,
    RegionsShown,
    ServiceJson,
    ServiceShown,
    ServicesShown,
)
from controlplane.identity.openstack.views.tokens import base_of
from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.faults import not_found


def regions_list(call: IdentityCall) -> JsonAnswer[RegionsShown]:
    """The only one."""
    return call.answer({"regions": [_region(call)], "links": call.list_links("regions")})


def region_show(call: IdentityCall, region_id: str) -> JsonAnswer[RegionShown]:
    """By its id."""
    if region_id != REGION:
        raise not_found(f"Could not find region: {region_id:.80}.")
    return call.answer({"region": _region(call)})


def services_list(call: IdentityCall) -> JsonAnswer[ServicesShown]:
    """One for each door."""
    name, kind = call.query.get("name"), call.query.get("type")
    found = [one for one in SERVICES if name in (None, one.name) and kind in (None, one.type)]
    return call.answer({"services": [_service(call, one) for one in found], "links": call.list_links("services")})


def service_show(call: IdentityCall, service_id: str) -> JsonAnswer[ServiceShown]:
    """By its id or type."""
    return call.answer({"service": _service(call, service_found(service_id))})


def endpoints_list(call: IdentityCall) -> JsonAnswer[EndpointsShown]:
    """Three for each door, at one address."""
    asked = {key: call.query[key] for key in ("service_id", "interface", "region_id") if key in call.query}
    rows = endpoint_rows(base_of(call))
    found = [row for row in rows if all(row.get(key) == value for key, value in asked.items())]
    return call.answer({"endpoints": [_linked(call, row) for row in found], "links": call.list_links("endpoints")})


def endpoint_show(call: IdentityCall, endpoint_id: str) -> JsonAnswer[EndpointShown]:
    """By its id."""
    row = next((row for row in endpoint_rows(base_of(call)) if row["id"] == endpoint_id), None)
    if row is None:
        raise not_found(f"Could not find endpoint: {endpoint_id:.80}.")
    return call.answer({"endpoint": _linked(call, row)})


def _linked(call: IdentityCall, row: EndpointRow) -> EndpointJson:
    return {**row, "links": {"self": call.absolute_url("v3", "endpoints", row["id"])}}


def _region(call: IdentityCall) -> RegionJson:
    return {
        "id": REGION,
        "description": "",
        "parent_region_id": None,
        "links": {"self": call.absolute_url("v3", "regions", REGION)},
    }


def _service(call: IdentityCall, service: CatalogService) -> ServiceJson:
    return {
        "id": service.id,
        "type": service.type,
        "name": service.name,
        "enabled": True,
        "links": {"self": call.absolute_url("v3", "services", service.id)},
    }
