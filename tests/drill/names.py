"""What the stage's installation is called by both its processes and its harness. Imports nothing of Django."""

import uuid
from pathlib import Path

PASSWORD = "correct horse battery staple"
FLAVOR, LARGE_FLAVOR = "drill", "drill-large"
"""No host has room for the large one."""
NETWORK = "drill"
"""Of kind bridge, for those hosts that carry such: the simulated ones."""
OUTSIDE = "outside"
"""The external network, on the physical network of that name which the same hosts have."""
OVN_NETWORK, OVN_OUTSIDE = "drill-ovn", "outside-ovn"
"""The same of kind OVN, where the stage has OVN."""
DEVICE_NETWORK, DEVICE_WIRE = "drill-devices", "fast"
"""The network of ports that are devices, and its physical network, where each simulated host has virtual functions."""
DEVICE_SPEC = {"vendor_id": "8086", "product_id": "10ed", "physical_network": DEVICE_WIRE}
NETWORKS_FILE = "networks.json"
"""What those hosts have plugged, in their driver's state."""
POOL = "shared"
"""The pool of volumes that all hosts reach."""
OWN_POOL = "local"
"""Each host's own."""
TYPES = {POOL: "drill-shared", OWN_POOL: "drill-own"}
"""Volume types by the pool in which their volumes are."""
VOLUME = "drill"
"""Name of volumes of the load, apart from those that builds make."""
RESTORED = "drill-restored"
"""Name of those that are made of backups, and that nobody changes then."""
UPLOADED = "drill-upload"
"""Name of images that are made of volumes."""
SNAPSHOT = "drill-snapshot"
"""Name of those that are made of instances."""
CONSOLE_TOKEN_S = 10.0
"""For so long a token opens a console."""
MEMORY_MIB, LARGE_MEMORY_MIB = 32, 65536
IMAGES = 16
"""Each is fetched once by the hypervisors' shared cache, so fetching needs new ones."""


def image_name(number: int) -> str:
    """The image's name, from 0 to IMAGES - 1."""
    return f"drill-{number}"


def image_id(number: int) -> uuid.UUID:
    """Its id."""
    return uuid.uuid5(uuid.NAMESPACE_OID, image_name(number))


def has_guest_agent(number: int) -> bool:
    """Whether the image says so, as every other one does. None answers: a password gets to the host, and is not set."""
    return number % 2 == 0


def own_pool(state: Path) -> Path:
    """The directory of a host's own pool, below its agent's state."""
    return state / "driver" / "volumes"
