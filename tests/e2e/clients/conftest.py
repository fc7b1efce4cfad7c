"""One installation with simulated hypervisors for the clients of a module, and `openstack` logged in to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.installation import PASSWORD, Installation
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.openstack_clients import OpenStackCommand, cloud_environment, missing_for_clients
from tests.fixtures.processes import Processes


@pytest.fixture(scope="module")
def cloud(module_processes: Processes, migrated: MigratedDatabases) -> dict[str, str]:
    """The environment in which clients find it, by the `clouds.yaml` that it wrote itself."""
    if missing := missing_for_clients():
        pytest.skip(missing)

    state = module_processes.directory / "state"
    here = Installation(
        module_processes, state, driver="fake", hypervisors=2, env={"NETWORK_KIND": "bridge"}, migrated=migrated
    ).start()
    here.wait_for((state / "clouds.yaml").exists)
    return cloud_environment(state, PASSWORD)


@pytest.fixture(scope="module")
def openstack(cloud: dict[str, str], module_processes: Processes) -> Iterator[OpenStackCommand]:
    """The command, as the administrator in the project `demo`."""
    command = OpenStackCommand(cloud, module_processes.directory / "openstack.log")
    yield command
    command.close()


@pytest.fixture(scope="module")
def files(module_processes: Processes) -> Path:
    """A directory with `disk.raw` of 1 MiB, which has something in it, and a public key `key.pub`."""
    directory = module_processes.directory
    (directory / "disk.raw").write_bytes(bytes(range(256)) * 4096)
    (directory / "key.pub").write_text(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFfndg8RoE3f6EAoAgHWIqJTXUZEvMMuBKuWqPc6RnMP somebody\n"
    )
    return directory
