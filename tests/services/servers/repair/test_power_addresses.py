"""Addresses that hypervisors' own networks gave, as agents report them: what is gone is shown no longer."""

import pytest

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.networks import NetworkBackendKind
from computeagent.protocol.power import PowerState
from servers.agent_api import conductor_connect
from servers.models import Instance, Port
from tests.worlds import cloud
from tests.worlds.networks import network

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def instance() -> Instance:
    return cloud.active(cloud.cloud("h1").member)


def card(instance: Instance, name: str) -> Port:
    of = network(name, kind=NetworkBackendKind.HYPERVISOR, hypervisor_network=name)
    mac = f"fa:16:3e:00:00:{Port.objects.count():02x}"
    return Port.objects.create(
        network=of, network_name=name, hypervisor_network=name, mac=mac, instance_uuid=instance.pk, host="h1"
    )


def reported(instance: Instance, state: PowerState = PowerState.RUNNING, **addresses: tuple[str, ...]) -> object:
    facts = {str(instance.pk): GuestFacts(state, addresses=addresses)}
    conductor_connect().power_states(host="h1", facts=facts)
    instance.refresh_from_db()
    return instance.addresses


def test_address_of_a_card_that_is_gone_goes_though_the_guest_has_no_other(instance: Instance) -> None:
    lab, store = card(instance, "lab"), card(instance, "store")
    both = {"lab": ["192.0.2.5"], "store": ["198.51.100.5"]}
    assert reported(instance, lab=("192.0.2.5",), store=("198.51.100.5",)) == both
    assert reported(instance) == both  # its leases cannot be asked for at the moment
    store.delete()
    assert reported(instance) == {"lab": ["192.0.2.5"]}
    lab.delete()
    Instance.objects.filter(pk=instance.pk).update(has_default_network=False)
    assert reported(instance) == {}


def test_default_network_of_the_hypervisor_needs_no_port(instance: Instance) -> None:
    assert reported(instance, default=("192.0.2.7",)) == {"default": ["192.0.2.7"]}
    assert reported(instance) == {"default": ["192.0.2.7"]}
