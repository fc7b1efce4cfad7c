"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def class_list(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "class_list")


def class_create(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "class_create")


def class_show(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "class_show")


def class_put(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "class_put")


def class_delete(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "class_delete")
