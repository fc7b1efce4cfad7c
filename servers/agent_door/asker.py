"""Who asks at the agents' door: the agent whose secret this is, of a release that is understood."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from computeagent.protocol.wire import AGENT_HEADER, VERSION_HEADER, incompatible_words, is_compatible, secret_digest
from controlplane.kernel.complaints import Complaints
from controlplane.kernel.errors import Conflict, Forbidden, Unavailable
from controlplane.kernel.ids import parse_uuid
from servers.agent_api import database_reached
from servers.agent_api.credentials import (
    VERSION_MAX,
    agent_version_refused,
    credential_host,
    credential_host_before,
    enrolment_host,
)
from servers.agent_api.host_ownership import NOT_LET_IN

log = logging.getLogger(__name__)
BEARER = "Bearer "


REFUSALS_AGAIN_S = 600.0
_refusals = Complaints(say_again_s=REFUSALS_AGAIN_S)
"""An agent that is locked out asks for ever."""


class SecretRefused(Forbidden):
    """The secret is nobody's, or was revoked: the agent has to be enrolled again."""

    code = "secret_refused"

    def __init__(self, digest: str) -> None:
        super().__init__(NOT_LET_IN)
        self.digest = digest


class Incompatible(Conflict):
    """Agent and control plane are more than one release apart."""

    code = "incompatible"
    retryable = False


@dataclass(frozen=True, slots=True)
class Asker:
    """The agent that asks: the host that its secret names, and the id of its state directory, "" if it told none."""

    host: str
    agent_id: str
    secret_digest: str


def asker_of(headers: Mapping[str, str]) -> Asker:
    """By the headers of a request, their names in any case. One query. Raises SecretRefused, Unavailable."""
    digest = _digest(headers)
    with database_reached():
        host = credential_host(digest) if digest else None
    if host is None:
        raise SecretRefused(digest)
    return Asker(host, str(parse_uuid(headers.get(AGENT_HEADER, "")) or ""), digest)


def secret_refusal_note(refused: SecretRefused, address: str) -> None:
    """Tell the log who was refused and from where, once in ten minutes for each host and each address of strangers."""
    try:
        with database_reached():
            host = credential_host_before(refused.digest)
            if not _refusals.is_due(host or f" {address}"):
                return
            host = host or (enrolment_host(refused.digest) if refused.digest else "")
    except Unavailable:
        host = ""  # the refusal stands
    whose = f"that host {host} had until it was revoked, replaced or the host removed" if host else "that is no agent's"
    log.warning("a secret was refused %s, from %s", whose, address)


def secret_refusals_forget() -> None:
    """The log was told of nobody."""
    _refusals.forget()


def require_version(headers: Mapping[str, str]) -> None:
    """Raises Incompatible for an agent that is more than one release away, which is noted for its host."""
    version = headers.get(VERSION_HEADER)
    if not is_compatible(version):
        with database_reached():
            agent_version_refused(secret_digest=_digest(headers), version=version or "none")
        raise Incompatible(incompatible_words(None if version is None else version[:VERSION_MAX]))


def _digest(headers: Mapping[str, str]) -> str:
    header = headers.get("Authorization", "")
    return secret_digest(header.removeprefix(BEARER)) if header.startswith(BEARER) else ""


def require_host(asker: Asker, host: str, verb: str) -> None:
    """Raises Forbidden when the agent speaks of another host than its own."""
    if host != asker.host:
        log.warning("the agent of host %s was refused %s of host %s", asker.host, verb, host[:100])
        raise Forbidden(
            f"The secret of host {asker.host} says nothing about host {host[:100]}. A host keeps its name: start this "
            f"agent with --host {asker.host}, or give host {host[:100]} a state directory and an enrolment of its own."
        )
