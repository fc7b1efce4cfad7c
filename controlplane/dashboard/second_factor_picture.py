"""What an authenticator app reads when a second factor is set up, and the form that its codes are typed into."""

from dataclasses import dataclass

import segno
from django import forms
from django.http import HttpRequest
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy

from controlplane.identity.domain.second_factor import enrolment_uri

LONGEST_CODE = 40


class CodeForm(forms.Form):
    """A code as an app shows it, or a recovery code."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=LONGEST_CODE,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autocapitalize": "characters", "spellcheck": "false"}
        ),
    )


@dataclass(frozen=True, slots=True)
class AppEnrolment:
    """The secret as text in groups of four, the address that holds it, and that as a QR code (SVG)."""

    secret: str
    uri: str
    svg: SafeString


def enrolment_picture(request: HttpRequest, secret: str, username: str) -> AppEnrolment:
    """Named by this installation's host, so that an app tells several apart. The code is dark on light in any theme."""
    uri = enrolment_uri(secret, username=username, issuer=f"Kilonova {request.get_host().partition(':')[0]}")
    svg = segno.make(uri, error="m").svg_inline(
        scale=5, border=4, dark="#000", light="#fff", title=gettext("QR code for an authenticator app"), omitsize=True
    )
    groups = " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
    return AppEnrolment(groups, uri, mark_safe(svg))  # noqa: S308 - drawn by segno of a text that cannot leave its modules
