"""What a request is answered with, from the store and the limits alone."""

import logging
import os
import threading
from http import HTTPStatus

from computeagent.drivers.base import DriverError
from computeagent.metadata.answers import MetadataAnswer, answer_of, is_password
from computeagent.metadata.connection import Request, Response
from computeagent.metadata.limits import GuestLimits
from computeagent.metadata.store import DocumentStore
from computeagent.protocol.metadata import PASSWORD_MAX_BYTES

log = logging.getLogger(__name__)

SEED_BYTES = 512


class Responder:
    """`password_posted` is set when a guest told one."""

    def __init__(self, store: DocumentStore, limits: GuestLimits) -> None:
        self._store = store
        self._limits = limits
        self.password_posted = threading.Event()

    def respond(self, network_id: str, address: str, request: Request) -> Response:
        """The guest is the one with this address of this network; there is none for anybody else."""
        document = self._store.of_address(network_id, address)
        wait_s = self._limits.request((network_id, address if document else ""))
        if wait_s:
            return Response(HTTPStatus.TOO_MANY_REQUESTS, headers=(("Retry-After", str(int(wait_s) + 1)),))
        if document is None:
            return Response(HTTPStatus.NOT_FOUND)
        if is_password(request.path):
            return self._password(document.guest.uuid, request)
        if request.method not in {"GET", "HEAD"}:
            return Response(HTTPStatus.METHOD_NOT_ALLOWED, headers=(("Allow", "GET, HEAD"),))
        try:
            answer = answer_of(document, request.path, address=address, seed=os.urandom(SEED_BYTES))
        except DriverError as error:
            log.warning("guest %s cannot be told what it asks for: %s", document.guest.uuid, error.message)
            answer = None
        return Response(HTTPStatus.NOT_FOUND) if answer is None else Response(HTTPStatus.OK, answer)

    def _password(self, uuid: str, request: Request) -> Response:
        if request.method in {"GET", "HEAD"}:
            return Response(HTTPStatus.OK, MetadataAnswer(self._store.password_of(uuid).encode()))
        if request.method != "POST":
            return Response(HTTPStatus.METHOD_NOT_ALLOWED, headers=(("Allow", "GET, HEAD, POST"),))
        return self._password_tell(uuid, request.body)

    def _password_tell(self, uuid: str, body: bytes) -> Response:
        """What the guest made up for its owner, encrypted for the owner's key; told once, as in Nova."""
        if len(body) > PASSWORD_MAX_BYTES:
            return Response(HTTPStatus.BAD_REQUEST, MetadataAnswer(b"Request is too large."))
        words = body.decode("utf-8", "replace").split()
        if not words or "\ufffd" in "".join(words) or not "".join(words).isprintable():
            return Response(HTTPStatus.BAD_REQUEST, MetadataAnswer(b"A password is told as text, such as base64."))
        try:
            is_new = self._store.password_note(uuid, body.decode().strip())
        except OSError:
            log.exception("what guest %s told of its password is not kept", uuid)
            return Response(HTTPStatus.SERVICE_UNAVAILABLE, headers=(("Retry-After", "5"),))
        if not is_new:
            return Response(HTTPStatus.CONFLICT)
        self.password_posted.set()
        return Response(HTTPStatus.OK)
