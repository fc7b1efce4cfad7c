"""What the catalog of a token lists: the OpenStack doors of this installation, each at the address that was called."""

from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from controlplane.identity.openstack.shapes import CatalogEntry, EndpointRow
from controlplane.kernel.errors import NotFound

REGION = "RegionOne"
INTERFACES = ("public", "internal", "admin")


@dataclass(frozen=True, slots=True)
class CatalogService:
    """A door: its type as clients look for it, its name, and its path."""

    type: str
    name: str
    path: str

    @property
    def id(self) -> str:
        """The same in every installation and after each restart."""
        return uuid5(NAMESPACE_URL, f"service:{self.type}").hex

    def endpoint_id(self, interface: str) -> str:
        """Likewise."""
        return uuid5(NAMESPACE_URL, f"service:{self.type}:{interface}").hex


SERVICES = (
    CatalogService("identity", "keystone", "/identity/v3"),
    CatalogService("compute", "nova", "/compute/v2.1"),
    CatalogService("placement", "placement", "/placement"),
    CatalogService("network", "neutron", "/network"),
    CatalogService("image", "glance", "/image"),
    CatalogService("volumev3", "cinder", "/volume/v3"),
)
"""Doors that exist: a client that looks for another type is told that there is none, before it calls anything."""


def catalog_of(base: str) -> list[CatalogEntry]:
    """As a token carries it. `base`: scheme, host and prefix that the client used, without a slash at its end."""
    return [
        {
            "id": service.id,
            "type": service.type,
            "name": service.name,
            "endpoints": [
                {
                    "id": service.endpoint_id(interface),
                    "interface": interface,
                    "region": REGION,
                    "region_id": REGION,
                    "url": base + service.path,
                }
                for interface in INTERFACES
            ],
        }
        for service in SERVICES
    ]


def service_found(service_id: str) -> CatalogService:
    """By id or type. Raises NotFound."""
    found = next((one for one in SERVICES if service_id in (one.id, one.type)), None)
    if found is None:
        raise NotFound(f"Could not find service: {service_id:.80}.")
    return found


def endpoint_rows(base: str) -> list[EndpointRow]:
    """All endpoints, each for itself."""
    return [
        {
            "id": service.endpoint_id(interface),
            "interface": interface,
            "region": REGION,
            "region_id": REGION,
            "service_id": service.id,
            "url": base + service.path,
            "enabled": True,
        }
        for service in SERVICES
        for interface in INTERFACES
    ]
