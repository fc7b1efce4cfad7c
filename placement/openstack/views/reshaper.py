"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def reshape_all(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "reshape_all")
