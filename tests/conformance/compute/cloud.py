"""What Tempest expects of a cloud before its first test, made over the doors that it tests."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fixtures.file_server import file_server
from tests.fixtures.installation import PASSWORD, Installation
from tests.fixtures.processes import ROOT, Processes

HOSTS = 3
ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "tests.conformance.compute.settings",
    "PYTHONPATH": str(ROOT),
    "NETWORK_KIND": "bridge",
}
PROJECT, ADMINISTRATOR = "demo", "admin"
IMAGE_BYTES = 1024 * 1024
VOLUME_TYPE, MULTIATTACH_TYPE = "shared", "multiattach"
"""Volumes of both are in the pool that all hypervisors reach: tests attach them to servers wherever these are."""
FLAVORS = {"tempest": (128, 1), "tempest-alt": (192, 2)}
"""Memory in MiB and vCPUs. Both are small, since tests run beside each other: the demo image boots with 128 MiB."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """A running installation, and the ids of what was made in it."""

    installation: Installation
    images: tuple[str, str]
    flavors: tuple[str, str]
    public_network: str
    newest_compute: str
    network_extensions: tuple[str, ...]
    file_url: str
    """Where a disk in the format qcow2 can be imported from, without any network but this machine's own."""

    @property
    def base(self) -> str:
        """The address of all doors."""
        return f"http://127.0.0.1:{self.installation.port}"


class Doors:
    """The doors of an installation as its administrator. Any refusal raises."""

    def __init__(self, base: str) -> None:
        self._base, self._token = base, ""
        user = {"name": ADMINISTRATOR, "domain": {"id": "default"}, "password": PASSWORD}
        scope = {"project": {"name": PROJECT, "domain": {"id": "default"}}}
        identity = {"methods": ["password"], "password": {"user": user}}
        with self._send("POST", "/identity/v3/auth/tokens", {"auth": {"identity": identity, "scope": scope}}) as answer:
            self._token = answer.headers["X-Subject-Token"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's document; None where there is none."""
        with self._send(method, path, body) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        with self._send("GET", path, None) as answer:
            return bytes(answer.read())

    def _send(self, method: str, path: str, body: Any) -> Any:
        is_bytes = isinstance(body, bytes)
        data = body if is_bytes or body is None else json.dumps(body).encode()
        kind = "application/octet-stream" if is_bytes else "application/json"
        headers = {"Content-Type": kind, "X-Auth-Token": self._token}
        request = urllib.request.Request(self._base + path, data=data, headers=headers, method=method)
        return urllib.request.urlopen(request, timeout=60)


@contextmanager
def cloud(directory: Path, *, is_real: bool) -> Iterator[Cloud]:
    """An installation in this directory that lasts as long as the block, with simulated or real hypervisors."""
    processes = Processes(directory)
    driver = "qemu" if is_real else "fake"
    try:
        with file_server() as server:
            disk = directory / "small.qcow2"
            subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", disk, str(IMAGE_BYTES)], check=True)
            url = server.file("/small.qcow2", disk.read_bytes())
            imports = {"IMAGE_IMPORT_PORTS": f"80,443,{server.port}", "IMAGE_IMPORT_NETWORKS": "127.0.0.0/8"}
            state, env = directory / "state", {**ENVIRONMENT, **imports}
            here = Installation(processes, state, driver=driver, hypervisors=HOSTS, env=env).start()
            yield prepared(here, url, is_real=is_real)
            here.stop()
    finally:
        processes.kill_all()


def prepared(here: Installation, file_url: str, *, is_real: bool) -> Cloud:
    """Two images, two flavors, two types of volumes and a public network."""
    doors = Doors(f"http://127.0.0.1:{here.port}")
    images = _demo_images(doors) if is_real else [_image(doors, "tempest"), _image(doors, "tempest-alt")]
    flavors = [
        doors.ask("POST", "/compute/v2.1/flavors", {"flavor": {"name": name, "ram": ram, "vcpus": vcpus, "disk": 1}})
        for name, (ram, vcpus) in FLAVORS.items()
    ]
    of_shared_pool = {"volume_backend_name": "shared"}
    for name, more in ((VOLUME_TYPE, {}), (MULTIATTACH_TYPE, {"multiattach": "<is> True"})):
        volume_type = {"name": name, "extra_specs": {**of_shared_pool, **more}}
        doors.ask("POST", "/volume/v3/types", {"volume_type": volume_type})
    version = doors.ask("GET", "/compute/v2.1")["version"]
    extensions = doors.ask("GET", "/network/v2.0/extensions")["extensions"]
    return Cloud(
        here, (images[0], images[1]), (flavors[0]["flavor"]["id"], flavors[1]["flavor"]["id"]),
        _public_network(doors), version["version"], tuple(each["alias"] for each in extensions), file_url,
    )  # fmt: skip


def _image(doors: Doors, name: str) -> str:
    """An image with a disk on which nothing is; its id."""
    wanted = {"name": name, "disk_format": "raw", "container_format": "bare", "visibility": "public"}
    wanted["hw_qemu_guest_agent"] = "yes"
    image = doors.ask("POST", "/image/v2/images", wanted)["id"]
    doors.ask("PUT", f"/image/v2/images/{image}/file", bytes(range(256)) * (IMAGE_BYTES // 256))
    return str(image)


def _demo_images(doors: Doors) -> list[str]:
    """The guest that an installation builds for itself, twice: tests that rebuild want another image that boots."""
    (image,) = doors.ask("GET", "/image/v2/images?name=kilonova-demo")["images"]
    data = doors.read(f"/image/v2/images/{image['id']}/file")
    wanted = {key: image[key] for key in ("disk_format", "container_format", "min_ram")}
    other = doors.ask("POST", "/image/v2/images", {**wanted, "name": "tempest-alt", "visibility": "public"})["id"]
    doors.ask("PUT", f"/image/v2/images/{other}/file", data)
    return [image["id"], other]


def _public_network(doors: Doors) -> str:
    """The id of the network with the outside; it is made where the installation has none, as simulated ones have."""
    if found := doors.ask("GET", "/network/v2.0/networks?router:external=True")["networks"]:
        return str(found[0]["id"])
    wanted = {
        "name": "public",
        "router:external": True,
        "provider:network_type": "flat",
        "provider:physical_network": "public",
    }
    network = doors.ask("POST", "/network/v2.0/networks", {"network": wanted})["network"]["id"]
    subnet = {"network_id": network, "ip_version": 4, "cidr": "198.18.0.0/16", "enable_dhcp": False}
    doors.ask("POST", "/network/v2.0/subnets", {"subnet": subnet})
    return str(network)
