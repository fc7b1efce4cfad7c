"""The metadata service of one host as guests ask it, from inside their namespaces."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from computeagent.agent.guest_metadata import MetadataService
from computeagent.networks.base import HostPlug
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.metadata import GuestDocument
from computeagent.protocol.networks import HostPort, NetworkBackendKind
from tests.units.computeagent.agent.documents_asked import DocumentsAsked
from tests.units.computeagent.metadata.documents import guest_of
from tests.worlds.bridge_place import Guest

HOST = "h1"
LATEST = "/openstack/latest/meta_data.json"
ASK = """
import http.client, sys
address, path, source = sys.argv[1:]
client = http.client.HTTPConnection(address, timeout=5, source_address=(source, 0) if source else None)
client.request("GET", path)
answer = client.getresponse()
print(answer.status)
print(answer.read().decode())
"""


def told(port: HostPort) -> GuestDocument:
    """What the control plane says to the guest of the port."""
    spec = PortSpec(port.mac, port.network_id, id=port.id, kind=NetworkBackendKind.BRIDGE, addresses=port.addresses)
    return GuestDocument(HOST, replace(guest_of(port.instance_uuid), ports=(spec,)))


def service_of(plug: HostPlug, directory: Path, *ports: HostPort) -> MetadataService:
    conductor = DocumentsAsked()
    conductor.documents = {port.instance_uuid: told(port) for port in ports}
    conductor.at_once = 100
    service = MetadataService(HOST, conductor, directory, plug.service_prefix)  # type: ignore[arg-type]
    service.open()
    service.tick("1")
    return service


def asks(guest: Guest, path: str = LATEST, *, source: str = "", address: str = "169.254.169.254") -> tuple[int, str]:
    """Status and content; 0: no connection."""
    if not guest.succeeds(sys.executable, "-c", ASK, address, path, source):
        return 0, ""
    status, _, content = guest.run(sys.executable, "-c", ASK, address, path, source).partition("\n")
    return int(status), content


def uuid_told(guest: Guest) -> str:
    status, content = asks(guest)
    assert status == 200
    return str(json.loads(content)["uuid"])


def reaches(guest: Guest) -> None:
    """The way that DHCP tells where there is no gateway."""
    guest.run("ip", "route", "replace", "169.254.169.254", "dev", "eth0")
