"""Inventories of several providers and allocations of several consumers, restated in one transaction."""

from controlplane.openstack.answers import Empty
from placement.openstack.allocation_bodies import consumer_states, inventories_stated
from placement.openstack.allocation_faults import written
from placement.openstack.allocation_schemas import RESHAPE
from placement.openstack.call import PlacementCall
from placement.services import reshape


def reshape_all(call: PlacementCall) -> Empty:
    body = call.body(RESHAPE.at(call.minor))
    inventories = inventories_stated(body["inventories"])
    states = consumer_states(body["allocations"], call.minor)
    written(lambda: reshape(inventories, states))
    return call.empty()
