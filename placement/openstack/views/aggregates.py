"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def aggregate_list(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "aggregate_list")


def aggregate_replace(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "aggregate_replace")
