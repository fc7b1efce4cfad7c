"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def search(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "search")
