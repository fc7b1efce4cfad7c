"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def provider_list(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_list")


def provider_create(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_create")


def provider_show(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_show")


def provider_delete(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_delete")


def provider_update(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_update")
