"""Forms of identity: logging in, with the same brake on guessing as the API; a user in the admin."""

from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm, UserChangeForm
from django.core.exceptions import ValidationError

from controlplane.identity.addresses import address_of
from controlplane.identity.domain import LoginRefused, LoginsBusy, LoginThrottled
from controlplane.identity.models import User
from controlplane.identity.services import credentials_check, is_last_superuser


class LoginForm(AuthenticationForm):
    """Username and password, checked by the service: too many wrong ones have to wait."""

    def clean(self) -> dict[str, Any]:
        """The user is then in `get_user()`; a refusal is one sentence for the whole form."""
        username, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if username is None or not password:
            return self.cleaned_data
        address = address_of(self.request.META) if self.request is not None else ""
        try:
            user = credentials_check(username=username, password=password, address=address)
        except (LoginRefused, LoginThrottled, LoginsBusy) as error:
            raise ValidationError(error.message, code=error.code) from error
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
            raise ValidationError("This is the last active superuser.")
        return cleaned
