"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def provider_usages(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "provider_usages")


def total_usages(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "total_usages")
