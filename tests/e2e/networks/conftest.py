"""Hypervisors' places in network namespaces, removed with all that is in them."""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from computeagent.networks.base import NetworkPlace
from computeagent.networks.bridge.plug import BridgePlug
from tests.worlds.bridge_place import Place, run

_numbers = itertools.count()


@pytest.fixture
def make_place(tmp_path: Path) -> Iterator[Callable[..., Place]]:
    """Makes places; keyword arguments are NetworkPlace's."""
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces on the machine itself")
    made: list[Place] = []

    def make(**more: object) -> Place:
        name = f"knbr{os.getpid()}-{next(_numbers)}"
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        directory = tmp_path / name
        place = NetworkPlace(prefix=("nsenter", f"--net=/run/netns/{name}"), namespace_prefix=name, **more)  # type: ignore[arg-type]
        made.append(Place(name, BridgePlug(place, directory), place, directory))
        return made[-1]

    yield make
    for place in made:
        place.close()


@pytest.fixture
def place(make_place: Callable[..., Place]) -> Place:
    """A hypervisor that is alone."""
    return make_place()
