"""Logging in to the pages and the Django admin, step by step: who one is, then the second factor where one is wanted.

Until the last step nobody is logged in. Who has passed the first waits in the session, for some minutes; so no page and
no door has to know of people who are half inside.
"""

import time
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import login
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from controlplane.audit_log.recording.actor_scope import Actor, actor_scope_now
from controlplane.identity.conf import identity_options, oidc_options
from controlplane.identity.domain.outside import Source
from controlplane.identity.models import User
from controlplane.identity.selectors.second_factors import is_second_factor_required, second_factor_of
from controlplane.identity.services import second_factor_begin
from controlplane.kernel.clock import utc_now
from controlplane.kernel.ids import parse_uuid

PENDING = "login_pending"
PENDING_FOR_S = 600
PASSED = "second_factor_passed"
CODE_PAGE = "/login/code/"
SET_UP_PAGE = "/login/set-up/"


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """Somebody who has passed the first step. `target`: where to go after the last; `source`: empty for a password."""

    user: User
    target: str
    source: str


def login_begin(request: HttpRequest, user: User, *, target: str, source: str = "") -> str:
    """The first step is done: `user` is the one, by a password, or by `source`. Returns the page of the next step;
    where there is none, the user is logged in and it is `target`.
    """
    _acts(user)
    is_trusted = source == Source.OIDC and oidc_options().oidc_is_second_factor
    if not is_trusted and second_factor_of(user=user) is not None:
        page = CODE_PAGE
    elif not is_trusted and is_second_factor_required(user=user):
        second_factor_begin(user=user)
        page = SET_UP_PAGE
    else:
        return login_finish(request, PendingLogin(user, target, source), has_passed=is_trusted)
    request.session[PENDING] = {
        "user": str(user.pk),
        "target": target,
        "source": source,
        "at": time.time(),
        # A new password ends log-ins that are under way, as it ends sessions.
        "hash": user.get_session_auth_hash(),
    }
    return page


def pending_login(request: HttpRequest) -> PendingLogin | None:
    """Who waits for the next step in this session; None for nobody, or one who waited too long or may not any more."""
    stored = request.session.get(PENDING) or {}
    user_id = parse_uuid(stored.get("user", ""))
    user = User.objects.filter(pk=user_id, is_active=True).first() if user_id else None
    is_late = time.time() - stored.get("at", 0.0) > PENDING_FOR_S
    if user is None or is_late or not _is_hash_of(user, stored["hash"]):
        return None
    _acts(user)
    return PendingLogin(user, stored["target"], stored["source"])


def _is_hash_of(user: User, given: str) -> bool:
    """Whether a log-in began with the user's present password, under SECRET_KEY or one of its fallbacks."""
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return any(constant_time_compare(given, one) for one in hashes)


def login_finish(request: HttpRequest, pending: PendingLogin, *, has_passed: bool) -> str:
    """Log in, and return where to go. `has_passed`: with a second factor."""
    request.session.pop(PENDING, None)
    login(request, pending.user)
    request.session[PASSED] = has_passed
    if pending.source == Source.OIDC:
        # A moment and no span, which every use of the session would begin anew.
        request.session.set_expiry(utc_now() + timedelta(seconds=oidc_options().oidc_session_s))
    return pending.target


def has_passed(request: HttpRequest) -> bool:
    """Whether this session was begun with a second factor."""
    return bool(request.session.get(PASSED))


def passed_now(request: HttpRequest) -> None:
    """Its owner has just shown the second factor in this session."""
    request.session[PASSED] = True


def lacks_for_staff(request: HttpRequest) -> bool:
    """Whether a session of an administrator was begun without the second factor that the setting wants."""
    return identity_options().second_factor_required == "staff" and not has_passed(request)


def _acts(user: User) -> None:
    """What the steps change is recorded as the user's own doing: that it is this one was just proved."""
    scope = actor_scope_now()
    if scope is not None:
        scope.actor = Actor(user.get_username(), user.pk)
