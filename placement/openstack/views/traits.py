"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def provider_trait_list(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_trait_list")


def provider_trait_replace(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_trait_replace")


def provider_trait_delete(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_trait_delete")


def trait_list(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "trait_list")


def trait_show(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "trait_show")


def trait_put(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "trait_put")


def trait_delete(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "trait_delete")
