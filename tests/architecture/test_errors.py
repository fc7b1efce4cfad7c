"""Every expected failure is rendered by the API in the one shape, with the status its meaning has."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from uuid import UUID

import pytest

import controlplane
import placement
import scheduling
import servers
from controlplane.infra.api.errors import exception_handler
from controlplane.kernel import errors
from controlplane.kernel.errors import InvalidFields, KilonovaError

STATUS = {
    "TooLarge": 413,
    "InvalidFields": 400,
    "Invalid": 400,
    "NotFound": 404,
    "Forbidden": 403,
    "QuotaExceeded": 403,
    "Conflict": 409,
    "Fenced": 409,
    "NoCapacity": 409,
    "Unavailable": 503,
    "Throttled": 429,
    "KilonovaError": 400,
}
SHAPE = {"code", "message", "field", "reasons", "request_id"}
# Their constructors take something else than a message.
MADE_BY_HAND = {
    "DirectoryUnavailable": lambda kind: kind(),
    "InvalidFields": lambda kind: kind({"name": ["is missing"]}),
    "LoginRefused": lambda kind: kind(),
    "LoginThrottled": lambda kind: kind(3),
    "LoginsBusy": lambda kind: kind(),
    "NoValidHost": lambda kind: kind("0/3 hosts", decision_id=UUID(int=1)),
    "ClaimsExhausted": lambda kind: kind("0/3 hosts", decision_id=UUID(int=1)),
}


def _modules() -> Iterator[str]:
    for package in (controlplane, placement, scheduling, servers):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.split(".")[-1] in {"errors", "image_store", "web_door", "state_lock"}:
                yield found.name


def _classes() -> list[type[KilonovaError]]:
    for name in _modules():
        importlib.import_module(name)
    found, todo = set(), [KilonovaError]
    while todo:
        kind = todo.pop()
        found.add(kind)
        todo += kind.__subclasses__()
    ours = (kind for kind in found if not kind.__module__.startswith(("computeagent", "tests")))
    return sorted(ours, key=lambda kind: kind.__name__)


CLASSES = _classes()


def _made(kind: type[KilonovaError]) -> KilonovaError:
    make = MADE_BY_HAND.get(kind.__name__)
    return make(kind) if make else kind("it is so")


def _expected_status(kind: type[KilonovaError]) -> int:
    """The status of the nearest class of the kernel."""
    return next(STATUS[base.__name__] for base in kind.__mro__ if base.__name__ in STATUS)


def test_kernel_errors_are_all_in_the_table() -> None:
    kernel = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, KilonovaError)}
    assert kernel == set(STATUS)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_error_is_rendered_in_the_one_shape(kind: type[KilonovaError]) -> None:
    response = exception_handler(_made(kind), {})
    assert response is not None
    assert response.status_code == _expected_status(kind)
    shown = response.data["error"]
    assert set(shown) >= SHAPE
    assert shown["code"] == kind.code
    assert shown["message"]


def test_several_wrong_fields_are_all_told() -> None:
    response = exception_handler(InvalidFields({"name": ["is missing"], "flavor": ["is unknown"]}), {})
    assert response is not None
    assert response.data["error"]["field"] == "name"
    assert response.data["error"]["reasons"] == {"name": ["is missing"], "flavor": ["is unknown"]}


def test_unexpected_failure_tells_nothing_but_the_request_id() -> None:
    response = exception_handler(RuntimeError("the password is 1234"), {})
    assert response is not None
    assert response.status_code == 500
    assert set(response.data["error"]) == SHAPE
    assert "1234" not in str(response.data)
