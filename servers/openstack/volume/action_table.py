"""Actions: what `POST .../action` does is named by the one key of its body. A table says what each needs and takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.http import HttpResponse

from controlplane.openstack.described import Schema, one_key_schema
from controlplane.openstack.faults import bad_request
from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.volume.access import VolumeAccess
from servers.openstack.volume.call import VolumeCall

Answered_co = TypeVar("Answered_co", bound=HttpResponse, covariant=True)
BODY = CompiledSchema({"type": "object", "minProperties": 1, "maxProperties": 1})
NO_ARGUMENTS = CompiledSchema({"enum": [None, {}, ""]})
"""What clients write under the name of an action that takes nothing."""


@dataclass(frozen=True, slots=True)
class VolumeWireAction(Generic[Answered_co]):
    """One action. `takes` judges what stands under its name; `since` is the first version that has it."""

    access: VolumeAccess
    takes: CompiledSchema
    run: Callable[[VolumeCall, UUID, Any], Answered_co]
    since: int = 0


@dataclass(frozen=True, slots=True)
class VolumeActionTable(Generic[Answered_co]):
    """The actions of one kind of thing, and those of Cinder that are not done here, each with the reason."""

    actions: Mapping[str, VolumeWireAction[Answered_co]]
    refused: Mapping[str, str]

    def body_schema(self, minor: int) -> Schema:
        """Of any of those that this version has."""
        return one_key_schema({name: one.takes.schema for name, one in self.actions.items() if minor >= one.since})

    def answer(self, call: VolumeCall, subject: UUID) -> Answered_co:
        """Do what the body says. Raises Fault 400, Forbidden, and what the service raises."""
        ((name, value),) = call.body(BODY).items()
        action = self.actions.get(name)
        if action is None or call.minor < action.since:
            reason = self.refused.get(name, "")
            raise bad_request(f"There is no such action: {name:.60}. {reason}".strip())
        call.require(action.access)
        if complaint := action.takes.complaint(value):
            raise bad_request(f"Invalid input for {name}: {complaint}")
        return action.run(call, subject, value)
