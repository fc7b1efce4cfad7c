"""A new secret each month. The one in use is replaced only when the next one has opened the door itself: a refusal
says nothing of the next one, since whatever answers may be another control plane, or one of another release.

The control plane lets the one before in for an hour after a rotation. It stays on the agent's disk until the rotation
after: a database that was restored from a backup of before knows it alone, and lets the one in use in again by it.
"""

import logging
import threading
from collections.abc import Callable

from computeagent.protocol.refusals import SecretTaken, SecretUnknown
from computeagent.transport.secret_file import SecretFile
from controlplane.kernel.errors import Forbidden

log = logging.getLogger(__name__)

ROTATE_AFTER_S = 30 * 86400.0

Replace = Callable[[str, str], None]
"""Ask, by a secret that the control plane knows, for another one in its place. The same twice changes nothing. Raises
SecretUnknown, Forbidden, SecretTaken, and what says nothing of either secret.
"""


class SecretRotation:
    """Of the secret in one state directory. Safe to use from any thread."""

    def __init__(self, secret: SecretFile, replace: Replace) -> None:
        self._secret = secret
        self._replace = replace
        self._lock = threading.Lock()

    def rotate_if_due(self) -> None:
        """A secret that is old is replaced, and what a cut rotation left half done is ended; what fails is tried with
        the next heartbeat. Raises DoorRefused, Unavailable.
        """
        with self._lock:
            current = self._secret.read()
            if current is None or (self._secret.waiting() is None and not self._is_old()):
                return
            following = self._secret.next_secret()
            try:
                self._replace(current, following)
            except SecretTaken:
                self._secret.forget_next()
                log.warning("the secret that was to be this host's is another host's: another one is made")
                return
            except (SecretUnknown, Forbidden):
                # An earlier try may have come through and its answer been lost, for longer than an hour.
                log.info("the secret in use is refused: perhaps the next one holds already")
            if self._opens(following):
                self._secret.take(following, keeps_previous=True)
                log.info("this host has a new secret")

    def fall_back(self) -> bool:
        """The secret in use is nobody's: whether the one before lets it in again, in a database of before."""
        with self._lock:
            current, previous = self._secret.read(), self._secret.previous()
            if current is None or previous is None:
                return False
            try:
                self._replace(previous, current)
            except (SecretUnknown, SecretTaken, Forbidden):
                return False
            log.warning(
                "the control plane knew the secret before the last rotation alone, as with a database restored from a "
                "backup: by that one, the secret in use holds again"
            )
            return True

    def _is_old(self) -> bool:
        age_s = self._secret.age_s()
        if age_s < 0:  # how old it is nobody knows, but from now on
            log.info("the time of this host's secret lies %.0f s ahead of the clock: it counts from now", -age_s)
            self._secret.count_from_now()
        return age_s >= ROTATE_AFTER_S

    def _opens(self, secret: str) -> bool:
        """Whether the control plane knows this one: it may replace itself, which changes nothing."""
        try:
            self._replace(secret, secret)
        except (SecretUnknown, Forbidden):
            return False
        return True
