"""The one import of libvirt, its event loop, and the translation of its errors."""

import functools
import importlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from computeagent.drivers.base import DriverError

# An embedded hypervisor logs to stderr unless told otherwise, before libvirt is loaded. All errors reach us as
# exceptions, so a second copy would only disturb the terminal; whoever debugs libvirt sets the variable.
os.environ.setdefault("LIBVIRT_LOG_OUTPUTS", "4:file:/dev/null")

try:
    _loaded: Any = importlib.import_module("libvirt")
except ImportError:  # pragma: no cover - the machine that runs the tests has it
    _loaded = None
libvirt: Final[Any] = _loaded


class _NeverRaised(Exception):
    """Stands for libvirt's error class where libvirt is absent."""


LibvirtError: Final[type[Exception]] = _NeverRaised if libvirt is None else libvirt.libvirtError

MISSING = (
    "libvirt-python is not installed: `pip install libvirt-python` "
    "(on Debian it needs the packages libvirt-dev, pkg-config, gcc and python3-dev to build)"
)


def require_libvirt() -> None:
    """Raise DriverError that names what to install where libvirt-python is absent."""
    if libvirt is None:
        raise DriverError(MISSING)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn a libvirt error inside into a DriverError of class HOST that says what was being done. What defines or
    starts a guest goes by `refusals` before.
    """
    try:
        yield
    except LibvirtError as error:
        raise DriverError(f"{doing}: {error_text(error)}") from error


def error_code(error: Exception) -> int | None:
    """libvirt's number of what went wrong (VIR_ERR_...)."""
    get_code: Callable[[], int | None] | None = getattr(error, "get_error_code", None)
    return get_code() if get_code else None


def error_text(error: Exception) -> str:
    """libvirt's own words for what went wrong."""
    get_message: Callable[[], str | None] | None = getattr(error, "get_error_message", None)
    return (get_message() if get_message else None) or str(error)


def is_no_domain(error: Exception) -> bool:
    """Whether libvirt says that there is no such domain."""
    return bool(error_code(error) == libvirt.VIR_ERR_NO_DOMAIN)


def is_no_metadata(error: Exception) -> bool:
    """Whether libvirt says that the domain has no metadata of the kind that was asked for."""
    return bool(error_code(error) == libvirt.VIR_ERR_NO_DOMAIN_METADATA)


def is_not_running(error: Exception) -> bool:
    """Whether libvirt refused because the domain is not (or no longer) in a state for the verb."""
    return bool(error_code(error) == libvirt.VIR_ERR_OPERATION_INVALID)


def is_no_node_device(error: Exception) -> bool:
    """Whether libvirt says that there is no such device of the machine."""
    return bool(error_code(error) == libvirt.VIR_ERR_NO_NODE_DEVICE)


def is_unsupported(error: Exception) -> bool:
    """Whether this kind of hypervisor cannot do what was asked."""
    return bool(error_code(error) == libvirt.VIR_ERR_NO_SUPPORT)


def is_incompatible_cpu(error: Exception) -> bool:
    """Whether libvirt says that this host cannot give such a CPU."""
    return bool(error_code(error) == libvirt.VIR_ERR_CPU_INCOMPATIBLE)


def is_of_guest_agent(error: Exception) -> bool:
    """Whether it is the agent inside the guest that is not there, does not answer, or refused: libvirt calls what the
    agent refuses an internal error.
    """
    return error_code(error) in (
        libvirt.VIR_ERR_INTERNAL_ERROR,
        libvirt.VIR_ERR_AGENT_UNRESPONSIVE,
        libvirt.VIR_ERR_AGENT_UNSYNCED,
        libvirt.VIR_ERR_ARGUMENT_UNSUPPORTED,
    )


@functools.cache
def event_loop_start() -> threading.Thread:
    """Start libvirt's event loop, once per process and before the first connection: embedded hypervisors need it."""
    # Otherwise libvirt prints each error to stderr although it also raises it.
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    libvirt.virEventRegisterDefaultImpl()
    thread = threading.Thread(target=_event_loop, name="libvirt-events", daemon=True)
    thread.start()
    return thread


def _event_loop() -> None:
    while True:
        libvirt.virEventRunDefaultImpl()
