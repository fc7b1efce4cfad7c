"""OVN's northbound database alone: what is written to it is what counts here."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from pytest_django import Settings

from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import Project
from servers.conf import ovn_options
from servers.networks.ovn.northbound import Northbound
from tests.fixtures.ovn import Central, missing_for_ovn, ovn_central


@pytest.fixture(scope="module")
def central() -> Iterator[Central]:
    if missing := missing_for_ovn():
        pytest.skip(missing)
    found = ovn_central(has_northd=False)
    yield found
    found.close()


@pytest.fixture
def configured(central: Central, settings: Settings) -> Iterator[Central]:
    settings.KILONOVA = {
        **settings.KILONOVA,
        "OVN_NORTHBOUND": central.address("nb"),
        "OVN_GATEWAY_CHASSIS": ("hv1", "hv2"),
    }
    yield central
    for table in ("Logical_Switch", "Logical_Router", "Port_Group", "Address_Set", "DHCP_Options"):
        central.nb("--all", "destroy", table)


@pytest.fixture
def northbound(configured: Central) -> Iterator[Northbound]:
    found = Northbound.connect(ovn_options())
    yield found
    found.close()


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(name="tenant")


@pytest.fixture
def caller(project: Project) -> Caller:
    return Caller(uuid4(), "root", project.pk, project.name, frozenset({Role.ADMIN}))
