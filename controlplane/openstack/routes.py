"""What a path offers for one method, and finding the path."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from django.http.response import HttpResponseBase

from controlplane.openstack.call import Call

View = Callable[..., HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path.

    `since`: the lowest minor version that has it, and `until` the highest; outside, the answer is `missing` (404 or
    405). `access`: what a caller
    needs, one of the service's own; None where the view decides by itself. `gives`/`takes`: JSON is what it
    answers with and what it wants as a body, so Accept and Content-Type are checked. `media_types`: what it takes that
    is not JSON; the view checks that.
    """

    view: View
    access: Enum | None
    since: int = 0
    until: int | None = None
    missing: int = 404
    gives: bool = False
    takes: bool = False
    media_types: tuple[str, ...] = ()

    def is_in(self, minor: int) -> bool:
        """Whether this version has it."""
        return self.since <= minor and (self.until is None or minor <= self.until)

    def run(self, call: Call, parameters: Mapping[str, str]) -> HttpResponseBase:
        return self.view(call, **parameters)


@dataclass(frozen=True, slots=True)
class Route:
    """A path: literal segments and `{parameters}`; what each method does."""

    template: str
    methods: Mapping[str, Endpoint]

    @property
    def allow(self) -> str:
        """For the Allow header."""
        return ", ".join(self.methods)


class RouteTable:
    """Finds the route of a path by its number of segments and its literals, without a regular expression each."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._by_length: dict[int, list[tuple[tuple[str, ...], Route]]] = {}
        for route in routes:
            segments = tuple(route.template.split("/"))
            self._by_length.setdefault(len(segments), []).append((segments, route))

    def find(self, path: str) -> tuple[Route, dict[str, str]] | None:
        """The route and the values of its parameters; None when there is no such path."""
        here = path.split("/")
        for segments, route in self._by_length.get(len(here), ()):
            values = _match(segments, here)
            if values is not None:
                return route, values
        return None


def _match(segments: tuple[str, ...], here: list[str]) -> dict[str, str] | None:
    values = {}
    for segment, value in zip(segments, here, strict=True):
        if segment.startswith("{") and value:
            values[segment[1:-1]] = value
        elif segment != value:
            return None
    return values
