"""The verbs about guests' metadata, of a control plane in memory."""

from dataclasses import replace

from computeagent.protocol.metadata import GuestDocument, GuestDocuments
from controlplane.kernel.errors import Conflict, NotFound, Unavailable
from tests.units.computeagent.metadata.documents import given


class DocumentsAsked:
    """What guests are told, by their uuid, at most `at_once` in one answer; and what they told."""

    def __init__(self) -> None:
        self.documents: dict[str, GuestDocument] = {}
        self.guest_passwords: dict[str, str] = {}
        self.at_once = 2
        self.asked = 0
        self.knows_documents = True
        self.documents_away = False

    def guest_documents(self, *, host: str, known: dict[str, str]) -> GuestDocuments:
        """See Conductor."""
        self.asked += 1
        if self.documents_away:
            raise Unavailable("away")
        if not self.knows_documents:
            raise NotFound("There is no verb of this name here.")
        digests = {uuid: repr((one, one.password, one.guest)) for uuid, one in self.documents.items()}
        fresh = [one for uuid, one in self.documents.items() if known.get(uuid) != digests[uuid]]
        answer = given(*fresh[: self.at_once], also=tuple(self.documents))
        signed = tuple(replace(one, digest=digests[one.instance_uuid]) for one in answer.documents)
        return replace(answer, documents=signed, is_complete=len(fresh) <= self.at_once)

    def guest_password(self, *, host: str, instance_uuid: str, password: str) -> None:
        """See Conductor."""
        if instance_uuid not in self.documents:
            raise NotFound("This host has no such instance.")
        if self.guest_passwords.setdefault(instance_uuid, password) != password:
            raise Conflict("The guest told a password before.")
        self.documents[instance_uuid] = replace(self.documents[instance_uuid], password=password)
