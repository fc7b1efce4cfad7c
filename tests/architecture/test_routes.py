"""Every door is guarded: API views by an action of the policy for each of their methods, pages by a log-in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.views import APIView

from controlplane.identity.policy import DEFAULT_RULES

HTTP_METHODS = ("get", "post", "put", "patch", "delete")
# Nobody is known yet, or nothing is told that is not public.
PUBLIC_API = {"tokens", "api-schema", "api-docs"}
# Guarded by rules of their own, with tests of their own (tests/api: identity, placement, servers/openstack).
OPENSTACK = {"compute", "identity", "image", "network", "placement", "volume"}
# For programs, by a token, a secret or an address of its own (tests/api: infra/test_metrics.py, servers).
PROGRAMS = {"metrics", "agent-door", "console-stream"}
# Says to everybody that there is nothing (tests/api/infra/test_no_such_route.py).
NOWHERE = {"api-no-such-route"}
PUBLIC_PAGES = {
    "favicon",
    "healthz",
    "readyz",
    "login",
    "login-code",
    "login-set-up",
    "login-oidc",
    "login-oidc-callback",
    "logout",
    "theme-switch",
    "language-switch",
    "script-texts",
    "console-open-vnc",
    "console-open-serial",
}
SAMPLES = {"uuid": "00000000-0000-0000-0000-00000000000a", "str": "hv-1", "int": "1", "slug": "a"}


@dataclass(frozen=True)
class Route:
    """One pattern of the resolver."""

    path: str
    name: str
    callback: Any

    @property
    def api_class(self) -> type[APIView] | None:
        view = getattr(self.callback, "cls", None) or getattr(self.callback, "view_class", None)
        return view if isinstance(view, type) and issubclass(view, APIView) else None

    def __str__(self) -> str:
        return self.path


def _routes(patterns: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[Route]:
    for entry in patterns:
        here = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _routes(entry.url_patterns, here)
        else:
            yield Route(here, entry.name or "", entry.callback)


NOT_PAGES = PUBLIC_PAGES | OPENSTACK | PROGRAMS | NOWHERE
ROUTES = [route for route in _routes(get_resolver().url_patterns) if not route.path.startswith("/admin/")]
API = [route for route in ROUTES if route.api_class is not None and route.name not in PUBLIC_API]
PAGES = [route for route in ROUTES if route.api_class is None and route.name not in NOT_PAGES]


def _actions(route: Route) -> set[str]:
    """What a view can be asked for: DRF actions of a view set, methods of a plain view."""
    mapping: dict[str, str] = getattr(route.callback, "actions", None) or {}
    if mapping:
        return {action for method, action in mapping.items() if method in HTTP_METHODS}
    return {method for method in HTTP_METHODS if hasattr(route.api_class, method)}


def test_walk_finds_both_kinds_of_routes() -> None:
    assert len(API) > 40
    assert len(PAGES) > 10


@pytest.mark.parametrize("route", API, ids=str)
def test_api_view_names_a_known_action_for_each_method(route: Route) -> None:
    policy: dict[str, str] = getattr(route.api_class, "policy", {})
    missing = {action for action in _actions(route) if policy.get(action) not in DEFAULT_RULES}
    assert missing == set()


@pytest.mark.parametrize("route", API, ids=str)
def test_api_view_keeps_authentication_and_the_deny_by_default_permission(route: Route) -> None:
    view = route.api_class
    assert view is not None
    assert [each.__name__ for each in view.permission_classes] == ["RoleRequired", "KnownInput"]
    assert view.authentication_classes == APIView.authentication_classes


@pytest.mark.parametrize("route", PAGES, ids=str)
@pytest.mark.django_db
def test_page_sends_a_stranger_to_the_login(route: Route) -> None:
    path = re.sub(r"<(\w+):\w+>", lambda match: SAMPLES[match[1]], route.path)
    client = Client()
    response = client.get(path)
    if response.status_code == 405:
        response = client.post(path)
    assert response.status_code == 302
    assert response["Location"].startswith("/login/")
