"""All OpenStack doors, by the names that people give them."""

from collections.abc import Mapping
from typing import Any

from controlplane.identity.openstack.dispatcher import DOOR as IDENTITY
from controlplane.openstack.door import Door
from placement.openstack.dispatcher import DOOR as PLACEMENT
from servers.openstack.compute.dispatcher import DOOR as COMPUTE
from servers.openstack.image.dispatcher import DOOR as IMAGE
from servers.openstack.network.dispatcher import DOOR as NETWORK
from servers.openstack.volume.dispatcher import DOOR as VOLUME

DOORS: Mapping[str, Door[Any]] = {
    door.mount.removeprefix("/"): door for door in (IDENTITY, COMPUTE, PLACEMENT, IMAGE, NETWORK, VOLUME)
}
