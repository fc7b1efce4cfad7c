"""The metadata service of this host: its documents are fetched, its sockets opened, what guests told is passed on.

It goes on while the control plane is away, and after a restart of the agent before the control plane is reached.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from computeagent.metadata.listening import ListenError, listening_open, namespace_of
from computeagent.metadata.server import MetadataServer
from computeagent.metadata.store import DocumentStore
from computeagent.protocol.conductor import Conductor
from controlplane.kernel.complaints import Complaints
from controlplane.kernel.errors import Conflict, Invalid, NotFound

log = logging.getLogger(__name__)

DIRECTORY = "metadata"
MAX_ROUNDS = 100
"""Answers of one tick: each has some of the documents that a host lacks."""
ServicePrefix = Callable[[str], tuple[str, ...] | None]
"""`HostPlug.service_prefix`."""


class MetadataService:
    """One tick does all that is due. A control plane without these verbs is left alone until its heartbeats tell of
    another version.
    """

    def __init__(self, host: str, conductor: Conductor, state_dir: Path, service_prefix: ServicePrefix) -> None:
        self._host = host
        self._conductor = conductor
        self._service_prefix = service_prefix
        self._complaints = Complaints()
        self._refused_by: str | None = None
        self._is_serving = False
        self.store = DocumentStore(state_dir / DIRECTORY, host)
        self.server = MetadataServer(self.store)
        self.wake: threading.Event = self.server.responder.password_posted

    def open(self) -> None:
        """Know again what an earlier run knew. Raises OSError."""
        self.store.open()

    def tick(self, control_plane: str | None) -> None:
        """`control_plane` is the version that it told last; None: it was not reached yet."""
        self._listen_everywhere()
        if control_plane is None or self._refused_by == control_plane:
            return
        try:
            self._pass_on()
        except NotFound:
            self._refused_by = control_plane
            log.info("the control plane is of an earlier release and knows no metadata of guests")
            return
        self._listen_everywhere()

    def close(self) -> None:
        """End the serving; documents stay."""
        if self._is_serving:
            self.server.stop()

    def _pass_on(self) -> None:
        reported = self.store.passwords()
        for uuid, password in reported.items():
            with contextlib.suppress(NotFound, Conflict, Invalid):  # it is not wanted, or not any more
                self._conductor.guest_password(host=self._host, instance_uuid=uuid, password=password)
        for _ in range(MAX_ROUNDS):
            before = self.store.digests()
            given = self._conductor.guest_documents(host=self._host, known=before)
            self.store.take(given)
            if given.is_complete or self.store.digests() == before:
                break
        # Not before it is in the guest's document, so that the guest reads it all the time.
        for uuid in reported:
            self.store.password_done(uuid)

    def _listen_everywhere(self) -> None:
        """In each network whose guests have documents, by a socket of the namespace that serves it now."""
        wanted, listened = self.store.networks(), self.server.namespaces()
        self.server.leave(listened.keys() - wanted)
        for network_id in sorted(wanted):
            try:
                self._listen(network_id, listened.get(network_id))
            except ListenError as error:
                self._complain(network_id, str(error))

    def _listen(self, network_id: str, namespace: int | None) -> None:
        """Raises ListenError."""
        prefix = self._service_prefix(network_id)
        if prefix is None:
            self.server.leave([network_id] if namespace is not None else [])
            self._complain(network_id, "the host does not have the network yet")
        elif namespace is None or namespace_of(prefix) != namespace:
            listening = listening_open(prefix)
            self._serve()
            self.server.listen(network_id, listening)
            log.info("guests of network %s are told their metadata", network_id)

    def _serve(self) -> None:
        """The thread is there from the first network on. It ends with the process, if nobody ends it before."""
        if not self._is_serving:
            self._is_serving = True
            threading.Thread(target=self.server.run, name="metadata-server", daemon=True).start()

    def _complain(self, network_id: str, reason: str) -> None:
        if self._complaints.is_due(f"{network_id}: {reason}"):
            log.warning("guests of network %s are not told their metadata: %s", network_id, reason)
