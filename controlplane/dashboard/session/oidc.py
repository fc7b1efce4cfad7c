"""Logging in by the OpenID provider: there, and back."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from controlplane.audit_log.recording.actor_scope import PAGE, ActorScope, actor_scope
from controlplane.identity.addresses import address_of
from controlplane.identity.conf import oidc_options
from controlplane.identity.domain.outside import Source
from controlplane.identity.login_steps import login_begin
from controlplane.identity.services.outsiders import outsider_admit
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError

TARGET = "login_oidc_target"


@never_cache
@require_GET
def oidc_login(request: HttpRequest) -> HttpResponse:
    """To the provider. A link and no form: a form may lead nowhere but here."""
    _provider_or_404()
    target = request.GET.get("next", "/")
    is_safe = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    request.session[TARGET] = target if is_safe else "/"
    # The library of the protocol takes a quarter of a second to load, which is theirs who have a provider.
    from controlplane.identity.outside.oidc_provider import oidc_begin  # noqa: PLC0415

    try:
        return oidc_begin(request, redirect_uri=request.build_absolute_uri(reverse("login-oidc-callback")))
    except KilonovaError as error:
        return _refused(request, error)


@never_cache
@require_GET
def oidc_callback(request: HttpRequest) -> HttpResponse:
    """Back from the provider. The scope of the audit log is begun here, since such a request changes things."""
    _provider_or_404()
    from controlplane.identity.outside.oidc_provider import oidc_person  # noqa: PLC0415 - as above

    target = request.session.pop(TARGET, "/")
    with actor_scope(ActorScope(PAGE, address_of(request.META))):
        try:
            user = outsider_admit(oidc_person(request))
            return redirect(login_begin(request, user, target=target, source=Source.OIDC))
        except KilonovaError as error:
            return _refused(request, error)


def _provider_or_404() -> None:
    if not oidc_options().oidc_issuer:
        raise Http404("Nobody logs in by a provider here.")


def _refused(request: HttpRequest, error: KilonovaError) -> HttpResponse:
    messages.error(request, refusal_text(error), extra_tags="bad")
    return redirect("login")
