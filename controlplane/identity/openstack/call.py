"""One request to the Identity API."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse

from controlplane.identity.domain import LoginRefused, LoginThrottled
from controlplane.identity.openstack.access import IdentityCaller, unauthorized
from controlplane.identity.openstack.shapes import ListLinks
from controlplane.kernel.errors import Conflict, Forbidden, Unavailable
from controlplane.openstack.call import Call
from controlplane.openstack.faults import ApiFault

DOMAIN = "default"
DOMAIN_NAME = "Default"


@dataclass(frozen=True, slots=True)
class IdentityCall(Call):
    """A call with who makes it: None where no token is needed."""

    caller: IdentityCaller | None

    @property
    def held(self) -> Any:
        """What the token that was sent says. Raises Fault 401."""
        if self.caller is None:
            raise unauthorized()
        return self.caller.held

    def list_links(self, *path: str) -> ListLinks:
        """Of a list in one page: what clients look for."""
        return {"self": self.absolute_url("v3", *path), "next": None, "previous": None}

    def cache_headers(self, response: HttpResponse, modified: object) -> None:
        """What is said depends on who asks."""
        response["Vary"] = "X-Auth-Token"
        response["Cache-Control"] = "no-store"


def is_default_domain(value: str) -> bool:
    """By id or by name; people write both in either case."""
    return value.lower() == DOMAIN


@contextmanager
def refusals_answered() -> Iterator[None]:
    """What services refuse, in Keystone's statuses."""
    try:
        yield
    except LoginThrottled as error:
        raise ApiFault(429, error.message) from error
    except LoginRefused as error:
        raise unauthorized(error.message) from error
    except Forbidden as error:
        raise ApiFault(403, error.message) from error
    except Conflict as error:
        raise ApiFault(409, error.message) from error
    except Unavailable as error:
        raise ApiFault(503, error.message) from error
