"""One request to the Volume API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from controlplane.identity.policy import require
from controlplane.kernel.booleans import is_boolean, is_true
from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request
from controlplane.openstack.schemas import CompiledSchema
from controlplane.openstack.shapes import LinkJson
from servers.openstack.call import ServersCall
from servers.openstack.volume.access import VolumeAccess, path_project

VERSION = "v3"
MAX_LIMIT = 1000
"""As many members has a page at most."""


@dataclass(frozen=True, slots=True)
class VolumeCall(ServersCall):
    """A call to this door; `minor` is its microversion."""

    @property
    def sees_all(self) -> bool:
        """Whether the caller is shown what is for administrators."""
        return self.caller.sees_all

    def require(self, access: VolumeAccess) -> None:
        """For a view that knows only by the body what is asked. Raises Forbidden."""
        require(self.caller, access.value)

    def link(self, *parts: object) -> str:
        """The address of a resource, with the project's id where this request has it in its path."""
        project = path_project(self.request.path_info.removeprefix("/volume"))
        return self.absolute_url(VERSION, *((project,) if project else ()), *parts)

    def links(self, *parts: object) -> list[LinkJson]:
        """Where a resource is: with the version in the path, and without it."""
        here = self.link(*parts)
        return [{"rel": "self", "href": here}, {"rel": "bookmark", "href": here.replace(f"/{VERSION}/", "/", 1)}]

    def next_links(self, marker: object) -> list[LinkJson]:
        """The page after this one: the same question, from `marker` on."""
        query = self.query.copy()
        query.pop("offset", None)
        query["marker"] = str(marker)
        return [{"rel": "next", "href": self.request.build_absolute_uri(f"{self.request.path}?{query.urlencode()}")}]

    def number(self, name: str, default: int) -> int:
        """A parameter of the query that is no less than 0. Raises Fault 400."""
        value = self.query.get(name)
        if value is None:
            return default
        if not (value.isdecimal() and value.isascii()) or len(value) > 9:
            raise bad_request(f"{name} param must be an integer that is not negative, and is {value!r:.40}.")
        return int(value)

    def flag(self, name: str) -> bool:
        """Whether the query says so; left out is no. Raises Fault 400 for what is neither yes nor no."""
        return flag_of(name, self.query.get(name, "false"))

    def check_names(self, *known: str) -> None:
        """Refuse parameters of the query that this method does not have. Raises Fault 400."""
        if unknown := sorted(set(self.query) - set(known)):
            raise bad_request(f"Invalid query string parameters: {', '.join(unknown):.200} are not known here.")

    def named(self, key: str, schema: CompiledSchema) -> Any:
        """What a body has under its one key, judged by `schema` as a whole. Raises Fault 400."""
        return self.body(schema)[key]


def flag_of(name: str, value: object) -> bool:
    """A truth value in any of the spellings that clients send. Raises Fault 400."""
    if not is_boolean(str(value)):
        raise bad_request(f"Invalid input for field {name}: {value!r:.40} is neither true nor false.")
    return is_true(value)


def uuid_of(text: str, what: str) -> UUID:
    """The id in a path. Raises NotFound where it is none, since nothing can be there."""
    found = parse_uuid(text)
    if found is None:
        raise NotFound(f"{what} {text:.80} could not be found.")
    return found


def described(said: Mapping[str, Any]) -> dict[str, Any]:
    """Name and description as services take them: old clients call them display_name and display_description, null is
    the empty text, and blanks around them are cut off, as in Cinder.
    """
    found = {}
    for name in ("name", "description"):
        for spelling in (f"display_{name}", name):
            if spelling in said:
                found[name] = (said[spelling] or "").strip()
    return found
