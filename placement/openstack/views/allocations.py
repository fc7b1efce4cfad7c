"""Being written."""

from django.http import HttpResponse

from placement.openstack.call import Call
from placement.openstack.faults import Fault


def of_provider(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "of_provider")


def replace_many(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "replace_many")


def of_consumer(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "of_consumer")


def replace_one(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "replace_one")


def delete(call: Call, **parameters: str) -> HttpResponse:
    raise Fault(501, "delete")
