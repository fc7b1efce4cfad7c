"""What the code of a view says of its request and its answers: schemas, query parameters, statuses.

A view judges its body by `call.body(SCHEMA)` and its query by `call.check_names(NAMES)`, by a table, or one parameter
at a time. The source of the view, and of the functions of doors that it calls, is read for these, so that what a
document says is what is judged. Nothing is run but functions that give the schema of a version.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, cast

from django.http.response import HttpResponseBase

from controlplane.openstack.described import BodyDescribed, QueryDescribed, Schema
from controlplane.openstack.openapi.types import is_response
from controlplane.openstack.schemas import CompiledSchema, SchemaVersions

Described = Callable[[int], Schema | None]
"""The schema at a minor version."""

_CALL = ("call", "self")
_BODY, _QUERY = ("body", "named", "created"), ("check_query", "check_names")
_STATUS = {"answer": 200, "empty": 204}
_READS = ("get", "getlist")


@dataclass(slots=True)
class ViewFacts:
    """What was found. `statuses` are all of those that are not faults, unless `has_others`; `with_body`: those among
    them whose answers have a body.
    """

    bodies: list[Described] = field(default_factory=list)
    queries: list[Described] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    headers: set[str] = field(default_factory=set)
    statuses: set[int] = field(default_factory=set)
    with_body: set[int] = field(default_factory=set)
    has_others: bool = False


@cache
def view_facts(view: Callable[..., HttpResponseBase]) -> ViewFacts:
    """Of one view of a door."""
    facts = ViewFacts()
    _Reading(facts, set()).read(inspect.unwrap(view))
    return facts


@cache
def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    if not isinstance(node, ast.FunctionDef):
        raise TypeError(f"{function.__qualname__} is no plain function.")
    return node


@cache
def _parts(function: Callable[..., Any]) -> tuple[ast.AST, ...]:
    """All of its definition, which many views come to."""
    return tuple(ast.walk(_definition(function)))


class _Reading:
    """Goes through functions of doors, each once."""

    def __init__(self, facts: ViewFacts, seen: set[object]) -> None:
        self.facts, self.seen = facts, seen

    def read(self, function: FunctionType | Any, owner: type | None = None) -> None:
        """`owner`: the class of a call whose method this is."""
        if function in self.seen:
            return
        self.seen.add(function)
        here = _Place(function, owner or inspect.get_annotations(function).get("call"))
        for part in _parts(function):
            match part:
                case ast.Call():
                    self._call(part, here, is_method=owner is not None)
                case ast.Compare(left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn()]) if _is_query(
                    part.comparators[0]
                ):
                    self.facts.names.add(name)
                case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]) if _is_headers(part.comparators[0]):
                    self.facts.headers |= {here.text_of(left)} - {""}
                case ast.Name() | ast.Attribute():
                    self._table(here.value_of(part))
        if is_response(function.__annotations__.get("return")) and not _returns_plainly(function):
            self.facts.has_others = True

    def _call(self, call: ast.Call, here: "_Place", *, is_method: bool) -> None:
        match call.func:
            case ast.Attribute(value=ast.Name(id=receiver), attr=name) if receiver in _CALL:
                if name in _BODY and not is_method:
                    self.facts.bodies += [_body(each) for each in here.values_in(call)]
                if name in _QUERY:
                    self.facts.queries += [_query(each) for each in here.values_in(call)]
                    self.facts.names |= {one.value for one in call.args if _is_text(one)}  # type: ignore[attr-defined]
                if name in _STATUS:
                    self._status(call, _STATUS[name])
                elif (method := getattr(here.owner, name, None)) is not None and name not in (*_BODY[:2], *_QUERY):
                    self._function(method, call, here, skipped=1)
            case ast.Attribute(value=headers, attr="get") if _is_headers(headers):
                self.facts.headers |= {name for one in call.args[:1] if (name := here.text_of(one))}
            case ast.Attribute(value=query, attr=name) if name in _READS and _is_query(query):
                self.facts.names |= {one.value for one in call.args[:1] if _is_text(one)}  # type: ignore[attr-defined]
            case ast.Name() | ast.Attribute():
                self._function(here.value_of(call.func), call, here)

    def _function(self, value: object, call: ast.Call, here: "_Place", *, skipped: int = 0) -> None:
        function = inspect.unwrap(value) if callable(value) else None
        if not isinstance(function, FunctionType) or "openstack" not in function.__module__.split("."):
            return
        for index in _read_by_argument(function):
            given = call.args[index - skipped : index - skipped + 1]
            self.facts.names |= {one.value for one in given if _is_text(one)}  # type: ignore[attr-defined]
        self.read(function, here.owner if skipped else None)

    def _status(self, call: ast.Call, usual: int) -> None:
        said = next((one.value for one in call.keywords if one.arg == "status"), ast.Constant(usual))
        choices = (said.body, said.orelse) if isinstance(said, ast.IfExp) else (said,)
        for one in choices:
            if isinstance(one, ast.Constant) and isinstance(one.value, int):
                self.facts.statuses.add(one.value)
                if usual == _STATUS["answer"]:
                    self.facts.with_body.add(one.value)
            else:
                self.facts.has_others = True

    def _table(self, value: object) -> None:
        """A table that describes itself, wherever it is named: a list's filters, actions."""
        # First what most names are: to ask a Protocol about each takes longer than all the rest.
        if value is None or isinstance(value, (type, FunctionType, ModuleType, str, CompiledSchema, SchemaVersions)):
            return
        if isinstance(value, BodyDescribed):
            self.facts.bodies.append(value.body_schema)
        if isinstance(value, QueryDescribed):
            self.facts.queries.append(value.query_schema)


@dataclass(frozen=True, slots=True)
class _Place:
    """A function, whose names mean something, and the class of the call that it gets."""

    function: Any
    owner: Any

    def value_of(self, node: ast.expr) -> object:
        """What a name of the module stands for; None where it is none."""
        match node:
            case ast.Name(id=name):
                return self.function.__globals__.get(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                found = self.function.__globals__.get(module)
                return getattr(found, name, None) if isinstance(found, ModuleType) else None
        return None

    def text_of(self, node: ast.expr) -> str:
        """A text, or what a name of the module stands for where it is one; empty where it is none."""
        value = node.value if isinstance(node, ast.Constant) else self.value_of(node)
        return value if isinstance(value, str) else ""

    def values_in(self, call: ast.Call) -> Iterator[object]:
        """What arguments of a call name, as far as it describes itself."""
        for node in (part for argument in call.args for part in ast.walk(argument)):
            value = self.value_of(node) if isinstance(node, ast.expr) else None
            if isinstance(value, (CompiledSchema, SchemaVersions)) or _is_of_versions(value):
                yield value


def _is_of_versions(value: object) -> bool:
    return callable(value) and not isinstance(value, type) and "minor" in inspect.signature(value).parameters


def _body(value: Any) -> Described:
    return (lambda minor: value(minor).body_schema(minor)) if _is_of_versions(value) else value.body_schema


def _query(value: Any) -> Described:
    """Of a schema that judges a query string as a whole, or of names of a version."""

    def found(minor: int) -> Schema | None:
        now = value(minor) if _is_of_versions(value) else value
        return (
            now.query_schema(minor)
            if isinstance(now, QueryDescribed)
            else cast("BodyDescribed", now).body_schema(minor)
        )

    return found


def _is_query(node: ast.expr) -> bool:
    """`call.query`, or a name for it."""
    return (isinstance(node, ast.Attribute) and node.attr == "query") or (
        isinstance(node, ast.Name) and node.id == "query"
    )


def _is_headers(node: ast.expr) -> bool:
    """`call.request.headers`, or a name for it."""
    return (isinstance(node, ast.Attribute) and node.attr == "headers") or (
        isinstance(node, ast.Name) and node.id == "headers"
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@cache
def _read_by_argument(function: FunctionType) -> tuple[int, ...]:
    """Which arguments of a function are names of query parameters that it reads."""
    node = _definition(function)
    places = [argument.arg for argument in node.args.args]
    found = set()
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(value=query, attr=name), args=[ast.Name(id=argument), *_]) if (
                name in _READS and _is_query(query) and argument in places
            ):
                found.add(places.index(argument))
    return tuple(sorted(found))


@cache
def _returns_plainly(function: Callable[..., Any]) -> bool:
    """Whether the answer of each return is made by a method of the call or by a function that is read, too."""
    made = {
        target.id: one.value
        for one in _parts(function)
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    here, node = _Place(function, None), _definition(function)
    inner = {part for one in node.body if isinstance(one, ast.FunctionDef) for part in ast.walk(one)}

    def is_plain(returned: ast.Return) -> bool:
        value = made.get(returned.value.id, returned.value) if isinstance(returned.value, ast.Name) else returned.value
        return isinstance(value, ast.Call) and (
            (isinstance(value.func, ast.Attribute) and getattr(value.func.value, "id", "") in _CALL)
            or isinstance(here.value_of(value.func), FunctionType)
        )

    return all(is_plain(one) for one in _parts(function) if isinstance(one, ast.Return) and one not in inner)
