"""Tags of networks, subnets, ports, routers, floating addresses and security groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import not_found
from servers.networks.selectors.tags import TaggedKind, tags_of
from servers.networks.services.tags import tag_add, tag_remove, tags_replace
from servers.openstack.network.call import NetworkCall, id_in_path
from servers.openstack.network.schemas import TAGS
from servers.openstack.network.shapes import TagsShown


@dataclass(frozen=True, slots=True)
class TagViews:
    """The views of one kind. `not_found_type` and `what` are Neutron's words for one that is not there."""

    kind: TaggedKind
    not_found_type: str
    what: str

    def listed(self, call: NetworkCall, resource_id: str) -> JsonAnswer[TagsShown]:
        """All of them."""
        return call.answer({"tags": self._tags(call, self._id(resource_id))})

    def replaced(self, call: NetworkCall, resource_id: str) -> JsonAnswer[TagsShown]:
        """These, and no others."""
        return call.answer({"tags": self._replaced(call, resource_id, call.body(TAGS)["tags"])})

    def cleared(self, call: NetworkCall, resource_id: str) -> Empty:
        """None any more."""
        self._replaced(call, resource_id, [])
        return call.empty()

    def checked(self, call: NetworkCall, resource_id: str, tag: str) -> Empty:
        """Whether it is there."""
        if tag not in self._tags(call, self._id(resource_id)):
            raise not_found(f"Tag {tag:.80} could not be found.", code="TagNotFound")
        return call.empty()

    def added(self, call: NetworkCall, resource_id: str, tag: str) -> Empty:
        """One more, or none if it is there."""
        tag_add(caller=call.caller, kind=self.kind, resource_id=self._id(resource_id), tag=tag)
        return call.empty(status=201)

    def removed(self, call: NetworkCall, resource_id: str, tag: str) -> Empty:
        """One less."""
        tag_remove(caller=call.caller, kind=self.kind, resource_id=self._id(resource_id), tag=tag)
        return call.empty()

    def _id(self, text: str) -> UUID:
        return id_in_path(text, self.not_found_type, self.what)

    def _tags(self, call: NetworkCall, known: UUID) -> list[str]:
        return tags_of(caller=call.caller, kind=self.kind, resource_id=known)

    def _replaced(self, call: NetworkCall, resource_id: str, wanted: Sequence[str]) -> list[str]:
        return tags_replace(caller=call.caller, kind=self.kind, resource_id=self._id(resource_id), tags=wanted)
