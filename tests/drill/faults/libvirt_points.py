"""Points at libvirt's own calls, inside the product's driver: defineXML, create, destroy and undefine.

`refuse TEXT` comes out as libvirt's own exception, as from a daemon that says no; `hang SECONDS` as a call that does
not come back for so long. The points are named `libvirt.<call>`.
"""

from collections.abc import Callable
from typing import Any

from computeagent.drivers.base import Driver
from computeagent.drivers.libvirt.binding import libvirt
from controlplane.kernel.kill_points import Injected, reach

CALLS = ("defineXML", "create", "destroy")
GIVES_DOMAINS = ("defineXML", "lookupByUUIDString")


def with_points(driver: Driver) -> Driver:
    """The same driver over a connection that passes the points."""
    inner: Any = driver
    inner._connection = _Connection(inner._connection)
    return driver


class _Connection:
    """The driver's connection; every handle that it gives is wrapped."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def handle(self) -> Any:
        return _Pointed(self._inner.handle())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Pointed:
    """A connection or a domain of libvirt."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name in GIVES_DOMAINS:
            value = _giving_domains(value)
        return _passing(name, value) if name in CALLS else value

    def listAllDomains(self, flags: int = 0) -> list[Any]:  # noqa: N802 - libvirt's name
        """Wrapped as well: what is listed is destroyed through the list."""
        return [_Pointed(one) for one in self._inner.listAllDomains(flags)]


def _giving_domains(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: _Pointed(call(*arguments))


def _passing(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def passed(*arguments: Any) -> Any:
        try:
            reach(f"libvirt.{name}")
        except Injected as error:
            raise libvirt.libvirtError(error.message) from error
        return call(*arguments)

    return passed
