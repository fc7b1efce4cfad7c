"""Forms of identity: logging in, with the same brake on guessing as the API; a user in the admin."""

from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AdminPasswordChangeForm, AuthenticationForm, UserChangeForm
from django.core.exceptions import ValidationError
from django.forms import ModelForm
from django.http import HttpRequest

from controlplane.identity.addresses import address_of
from controlplane.identity.domain import DirectoryUnavailable, LoginRefused, LoginsBusy, LoginThrottled, OutsiderRefused
from controlplane.identity.domain.quota import USER_LIMITS
from controlplane.identity.models import User, UserQuota
from controlplane.identity.selectors.people import source_of
from controlplane.identity.services import credentials_check, is_last_superuser, user_limits_refused
from controlplane.identity.services.users import ELSEWHERE
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.texts import phrase as _

USERNAME_MAX = 150


class LoginForm(AuthenticationForm):
    """Username and password, checked by the service: too many wrong ones have to wait."""

    def __init__(self, request: HttpRequest | None = None, *args: Any, **kwargs: Any) -> None:
        """Of a name that is too long to be one, the page shows no more than says so."""
        super().__init__(request, *args, **kwargs)
        if len(self.data.get("username") or "") > USERNAME_MAX:
            self.data = {**self.data, "username": self.data["username"][: USERNAME_MAX + 1]}

    def clean(self) -> dict[str, Any]:
        """The user is then in `get_user()`; a refusal is one sentence for the whole form."""
        username, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if username is None or not password:
            return self.cleaned_data
        address = address_of(self.request.META) if self.request is not None else ""
        try:
            user = credentials_check(username=username, password=password, address=address)
        except (LoginRefused, LoginThrottled, LoginsBusy, DirectoryUnavailable, OutsiderRefused) as error:
            raise ValidationError(refusal_text(error), code=error.code) from error
        self.user_cache = user
        self.confirm_login_allowed(user)
        return self.cleaned_data


class AdminLoginForm(LoginForm, AdminAuthenticationForm):
    """The admin's: only staff."""


class UserForm(UserChangeForm):  # type: ignore[type-arg]  # not generic at run time
    """A user in the admin."""

    class Meta:
        model = User
        fields = "__all__"

    def clean(self) -> dict[str, Any]:
        """The last active superuser stays one: nobody could undo it from inside."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        stays = cleaned.get("is_active", True) and cleaned.get("is_superuser", True)
        if not stays and is_last_superuser(user=self.instance):
            raise ValidationError(_("This is the last active superuser."))
        return cleaned


class UserPasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg]  # not generic at run time
    """A new password in the admin."""

    def clean(self) -> dict[str, Any]:
        """Refused for who logs in elsewhere: it would never be asked for."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if source_of(user=self.user):
            # At a field: the admin's page shows no errors of the whole form.
            self.add_error("password1", ELSEWHERE)
        return cleaned


class UserQuotaForm(ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Limits of a user in the admin: as everywhere, none is above the project's own."""

    class Meta:
        model = UserQuota
        fields = ["project", "user", *USER_LIMITS]

    def clean(self) -> dict[str, Any]:
        """Refuses, at its field, each limit above the project's. An administrator may go below what is used."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if project := data.get("project"):
            limits = {name: data[name] for name in USER_LIMITS if name in data}
            for name, reasons in user_limits_refused(project, limits, {}).items():
                self.add_error(name, reasons)
        return data
