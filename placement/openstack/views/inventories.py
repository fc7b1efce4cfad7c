"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def inventory_list(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "inventory_list")


def inventory_create(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "inventory_create")


def inventory_replace_all(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "inventory_replace_all")


def inventory_delete_all(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "inventory_delete_all")


def inventory_show(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "inventory_show")


def inventory_update(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "inventory_update")


def inventory_delete(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "inventory_delete")
