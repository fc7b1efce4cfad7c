"""Who asks at the agents' door: the agent whose secret this is, of a release that is understood."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from computeagent.protocol.wire import AGENT_HEADER, VERSION_HEADER, incompatible_words, is_compatible, secret_digest
from controlplane.kernel.errors import Conflict, Forbidden
from controlplane.kernel.ids import parse_uuid
from servers.agent_api import database_reached
from servers.agent_api.credentials import agent_version_refused, credential_host

log = logging.getLogger(__name__)
BEARER = "Bearer "


class SecretRefused(Forbidden):
    """The secret is nobody's, or was revoked: the agent has to be enrolled again."""

    code = "secret_refused"


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
        log.warning("a secret was refused that is no agent's, or was revoked")
        raise SecretRefused("This secret is no agent's: it was revoked, or its host was removed. Enrol the host again.")
    return Asker(host, str(parse_uuid(headers.get(AGENT_HEADER, "")) or ""), digest)


def require_version(headers: Mapping[str, str]) -> None:
    """Raises Incompatible for an agent that is more than one release away, which is noted for its host."""
    version = headers.get(VERSION_HEADER)
    if not is_compatible(version):
        with database_reached():
            agent_version_refused(secret_digest=_digest(headers), version=version or "none")
        raise Incompatible(incompatible_words(version))


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
