"""Networks of projects are of bridges here."""

import pytest
from pytest_django import Settings

from tests.worlds.neutron import Neutron, neutron


@pytest.fixture(autouse=True)
def bridges(settings: Settings) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}


@pytest.fixture
def world(db: None) -> Neutron:
    return neutron()
