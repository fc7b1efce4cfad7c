"""One request to the Network API, and what its bodies and paths name."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from django.http.response import HttpResponseBase

from controlplane.infra.db import in_transaction
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Chosen
from controlplane.openstack.call import Call
from controlplane.openstack.described import Schema
from controlplane.openstack.faults import not_found
from controlplane.openstack.routes import Endpoint
from controlplane.openstack.schemas import CompiledSchema
from servers.networks.selectors.networks import owner_of
from servers.openstack.call import ServersCall
from servers.openstack.network.faults import invalid_input, refusals_answered
from servers.openstack.network.shapes import OwnerJson

T = TypeVar("T")
D = TypeVar("D", bound=Mapping[str, Any])
Document = dict[str, Any]
_ANY_OBJECT = CompiledSchema({"type": "object"})


@dataclass(frozen=True, slots=True)
class CreateSchemas:
    """What a body that creates may say: one thing under `name`, or several under `plural`."""

    name: str
    plural: str
    one: CompiledSchema
    many: CompiledSchema

    def body_schema(self, minor: int) -> Schema:
        """Of either."""
        return {"oneOf": [self.one.schema, self.many.schema]}


@dataclass(frozen=True, slots=True)
class CreatedThings(Generic[D]):
    """What was made, as it is shown, and whether it was asked for under the plural."""

    shown: list[D]
    is_many: bool


@dataclass(frozen=True, slots=True)
class NetworkCall(ServersCall):
    """A call with who makes it."""

    def created(
        self,
        schemas: CreateSchemas,
        make: Callable[[Sequence[Document]], Sequence[T]],
        show: Callable[[Sequence[T]], list[D]],
    ) -> CreatedThings[D]:
        """All that the body asks for, made in one transaction or not at all."""
        is_many = schemas.plural in self.body(_ANY_OBJECT)
        asked = self.body(schemas.many)[schemas.plural] if is_many else [self.body(schemas.one)[schemas.name]]
        return CreatedThings(show(in_transaction(lambda: make(asked))), is_many)

    def chosen(self, document: D) -> Chosen[D]:
        """The fields that the query asks for; all where it asks for none. A field that a thing has not is not shown."""
        wanted = set(self.query.getlist("fields")) - {""}
        shown = {name: value for name, value in document.items() if name in wanted} if wanted else document
        return cast("Chosen[D]", shown)

    def project_of(self, asked: Mapping[str, Any]) -> uuid.UUID:
        """Whose the new thing is to be. Raises Forbidden for others than administrators, and Fault 400."""
        said = {asked[name] for name in ("project_id", "tenant_id") if asked.get(name)}
        if len(said) > 1:
            raise invalid_input("tenant_id", "It names another project than project_id.")
        found = None
        for text in said:
            found = parse_uuid(text)
            if found is None:
                raise invalid_input("project_id", f"{text:.80} is no id of a project.")
        return owner_of(self.caller, found)


class NetworkEndpoint(Endpoint):
    """An endpoint whose services' refusals are answered in Neutron's types."""

    def run(self, call: Call, parameters: Mapping[str, str]) -> HttpResponseBase:
        """The answer of the view. Raises Fault."""
        with refusals_answered():
            return self.view(call, **parameters)


def id_in_path(text: str, kind: str, what: str) -> uuid.UUID:
    """What is no id names nothing: clients ask for names this way first, and read the 404. Raises Fault 404."""
    found = parse_uuid(text)
    if found is None:
        raise not_found(f"{what} {text:.80} could not be found.", code=kind)
    return found


def project_json(project_id: uuid.UUID | None) -> OwnerJson:
    """Whose it is, by the name that Neutron has for it and the one that it had; empty for the installation's."""
    text = project_id.hex if project_id else ""
    return {"project_id": text, "tenant_id": text}


def whole_number(value: int | str) -> int:
    """Clients send whole numbers as text, too; the schema has seen that it is one."""
    return int(value)
