"""Tokens as Keystone gives them: by password or by another token, for one project, for the system, or for neither.

They are rows like all other tokens, so that every door takes them and whoever lists or revokes tokens finds them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.actor_scope import Actor
from controlplane.audit_log.recording.audited import audited
from controlplane.audit_log.recording.record import AuditChange, change_record, facts_of, target_of
from controlplane.identity.conf import identity_options
from controlplane.identity.domain import LoginRefused
from controlplane.identity.domain.token import new_token, token_digest
from controlplane.identity.models import ApplicationCredential, Project, Token, User
from controlplane.identity.selectors.held_roles import has_role_in_system
from controlplane.identity.selectors.own_projects import own_project, own_project_named
from controlplane.identity.selectors.token_facts import TokenFacts, token_facts
from controlplane.identity.services.credential_logins import CredentialKey, credential_check
from controlplane.identity.services.logins import credentials_check
from controlplane.identity.services.second_factors import second_factor_ask
from controlplane.infra.db import db_now

ISSUE = "token.issue"
PASSWORD, TOTP, TOKEN, CREDENTIAL = "password", "totp", "token", "application_credential"
"""Keystone's names of how somebody is known."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a token is to be good for: the project of this id or name; the user's default one where neither is said.

    `is_system`: for the system. `is_unscoped`: for nothing, whatever the user's default.
    """

    project_id: UUID | None = None
    project_name: str = ""
    is_unscoped: bool = False
    is_system: bool = False

    @property
    def names_project(self) -> bool:
        """Whether a project is asked for by id or name."""
        return self.project_id is not None or bool(self.project_name)


@dataclass(frozen=True, slots=True)
class IssuedScopedToken:
    """The token itself, which is shown once and stored nowhere, and what it says."""

    token: str
    facts: TokenFacts


@audited(ISSUE, by="username", by_itself=True)
def token_issue_by_password(
    *, username: str, password: str, code: str | None, scope: Scope, address: str
) -> IssuedScopedToken:
    """A token for who knows the password, and the code of a second factor where the user has one.

    Raises LoginRefused for wrong credentials and for a project where the user has no role (Keystone tells nobody which
    of them it was), SecondFactorNeeded, LoginThrottled, LoginsBusy, DirectoryUnavailable.
    """
    user = credentials_check(username=username, password=password, address=address)
    second_factor_ask(user=user, code=code)
    methods = (PASSWORD, TOTP) if code else (PASSWORD,)
    return _issued(user, scope, _project_of(user, scope), methods)


@audited(ISSUE, by_itself=True)
def token_issue_by_token(*, token: str, scope: Scope) -> IssuedScopedToken:
    """Another token for the holder of one; it ends no later. Raises LoginRefused.

    Whoever came by an application credential gets the same again: its project, its roles, and no other scope.
    """
    held = token_facts(token)
    user = User.objects.filter(pk=held.user_id).first() if held else None
    if held is None or user is None:
        raise LoginRefused
    methods = tuple(dict.fromkeys((*held.methods, TOKEN)))
    row = Token.objects.select_related("application_credential__project").get(pk=held.token_id)
    if (credential := row.application_credential) is not None:
        project = _project_of_credential(credential, scope)
        return _issued(user, scope, project, methods, not_after=held.expires_at, credential=credential)
    return _issued(user, scope, _project_of(user, scope), methods, not_after=held.expires_at)


@audited(ISSUE, by_itself=True)
def token_issue_by_credential(*, key: CredentialKey, secret: str, scope: Scope, address: str) -> IssuedScopedToken:
    """A token for who knows the secret of an application credential: for its project, with its roles, no longer than
    it. Raises LoginRefused, also for another scope; LoginThrottled.
    """
    credential = credential_check(key=key, secret=secret, address=address)
    project = _project_of_credential(credential, scope)
    by = (CREDENTIAL,)
    return _issued(credential.user, scope, project, by, not_after=credential.expires_at, credential=credential)


def _project_of_credential(credential: ApplicationCredential, scope: Scope) -> Project:
    """Its own, which may be said or left out."""
    own = credential.project
    is_other = scope.project_name != own.name if scope.project_id is None else scope.project_id != own.pk
    if scope.is_unscoped or scope.is_system or (scope.names_project and is_other):
        raise LoginRefused
    return own


def _project_of(user: User, scope: Scope) -> Project | None:
    """The project that is meant; None for a token without one. Raises LoginRefused, also for the system where the user
    has no role in it.
    """
    if scope.is_system and not has_role_in_system(user=user):
        raise LoginRefused
    if scope.is_unscoped or scope.is_system:
        return None
    if not scope.names_project:
        return own_project(user=user, project_id=user.default_project_id) if user.default_project_id else None
    if scope.project_id is not None:
        found = own_project(user=user, project_id=scope.project_id)
    else:
        found = own_project_named(user=user, name=scope.project_name)
    if found is None:
        raise LoginRefused
    return found


def _issued(
    user: User,
    scope: Scope,
    project: Project | None,
    methods: tuple[str, ...],
    *,
    not_after: datetime | None = None,
    credential: ApplicationCredential | None = None,
) -> IssuedScopedToken:
    """A token that lives as long as the installation says, and not beyond `not_after`."""
    text = new_token()
    ends = db_now() + timedelta(seconds=identity_options().token_lifetime_s)
    with transaction.atomic():
        row = Token.objects.create(
            digest=token_digest(text),
            user=user,
            project=project,
            is_system=scope.is_system,
            methods=",".join(methods),
            application_credential=credential,
            expires_at=ends if not_after is None else min(ends, not_after),
            last_used_at=Now(),
        )
        entry = AuditChange(ISSUE, target_of("token", row), after=facts_of(row))
        actor = Actor(user.get_username(), user.pk, project.pk if project else None)
        change_record(entry, of=ISSUE, actor=actor)
        facts = token_facts(text)
    if facts is None:  # a role, or the user, was taken away meanwhile
        raise LoginRefused
    return IssuedScopedToken(text, facts)
