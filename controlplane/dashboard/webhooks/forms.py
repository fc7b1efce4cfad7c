"""What a person fills in for a webhook."""

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.notifications.webhooks import MIN_SECRET_CHARS


class WebhookPageForm(forms.Form):
    """A new one; or with `is_new` off one that exists, whose name stays and whose secret may."""

    name = forms.CharField(label=_("Name"), max_length=64, help_text=_("Up to 64 characters. It cannot change later."))
    url = forms.CharField(label="URL", max_length=2000, help_text=_("http:// or https://; each event is posted there."))
    events = forms.CharField(
        label=_("Events"),
        help_text=_("Patterns of event types, one a line; * stands for any text."),
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
    )
    secret = forms.CharField(
        label=_("Secret"),
        max_length=200,
        strip=False,
        help_text=format_lazy(
            _("Signs what is sent; {count} characters at least. Nobody is shown it again."), count=MIN_SECRET_CHARS
        ),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    enabled = forms.BooleanField(
        label=_("Enabled"),
        required=False,
        initial=True,
        help_text=_("Off: nothing is sent, and it gets no events."),
    )

    def __init__(self, *args: Any, is_new: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_new:
            del self.fields["name"]
            self.fields["secret"].required = False
            self.fields["secret"].help_text = gettext("Empty: it stays what it was. Nobody is shown it again.")

    def clean_events(self) -> list[str]:
        """As a list; the service has the rules for each."""
        return [line.strip() for line in str(self.cleaned_data["events"]).splitlines() if line.strip()]

    @property
    def plain(self) -> list[forms.BoundField]:
        """What has a label above it."""
        return [field for field in self if not isinstance(field.field, forms.BooleanField)]
