"""The create form. It offers; the service decides, so that page and API have the same rules."""

import base64
from collections.abc import Iterable
from typing import Any

from django import forms


class InstanceForm(forms.Form):
    """What a person fills in; `wanted` gives it as the service takes it."""

    MORE = ("availability_zone", "key_name", "group", "user_data", "tags")

    name = forms.CharField(help_text="Up to 255 characters. Several instances get -1, -2, ... appended.", strip=False)
    flavor = forms.ChoiceField(help_text="How many vCPUs, how much memory and disk.")
    image = forms.ChoiceField(help_text="What it boots from.")
    min_count = forms.IntegerField(
        label="How many",
        initial=1,
        help_text="All of them, or none if they do not fit.",
        widget=forms.NumberInput(attrs={"min": 1, "class": "short"}),
    )
    availability_zone = forms.CharField(
        label="Availability zone",
        required=False,
        help_text="Leave empty for any.",
        widget=forms.TextInput(attrs={"list": "zones"}),
    )
    key_name = forms.ChoiceField(label="Key pair", required=False)
    group = forms.ChoiceField(label="Server group", required=False)
    user_data = forms.CharField(
        label="User data",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 5, "class": "mono", "spellcheck": "false"}),
        help_text="A script or cloud-config, as plain text.",
    )
    tags = forms.CharField(required=False, help_text="Words separated by commas.")

    def __init__(
        self,
        data: Any = None,
        *,
        flavors: Iterable[Any],
        images: Iterable[Any],
        keypairs: Iterable[Any],
        groups: Iterable[Any],
        zones: Iterable[str],
        may_name_host: bool = False,
        is_trial: bool = False,
    ) -> None:
        super().__init__(data)
        self.zones = list(zones)
        # What is only tried needs no name yet.
        self.fields["name"].required = not is_trial
        if may_name_host:
            zone = self.fields["availability_zone"]
            zone.help_text = "Empty for any; zone:host, zone:host:node or zone::node forces one."
        self._offer("flavor", ((str(one.pk), _flavor_label(one)) for one in flavors if not one.disabled))
        self._offer("image", ((str(one.pk), one.name) for one in images if one.status == "active"))
        self._offer("key_name", [("", "none"), *((one.name, one.name) for one in keypairs)])
        self._offer("group", [("", "none"), *((str(one.pk), f"{one.name} ({one.policy})") for one in groups)])

    def full_clean(self) -> None:
        """As shown again, the form is one that creates: it asks for a name."""
        super().full_clean()
        self.fields["name"].required = True

    @property
    def is_possible(self) -> bool:
        """Whether there is a flavor and an image to choose."""
        return all(self.fields[name].choices for name in ("flavor", "image"))  # type: ignore[attr-defined]

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """What everybody fills in."""
        return [self[name] for name in self.fields if name not in self.MORE]

    @property
    def more_fields(self) -> list[forms.BoundField]:
        """What most leave alone."""
        return [self[name] for name in self.MORE]

    @property
    def shows_more(self) -> bool:
        """Whether one of the rarer fields was filled in or is wrong, so that it must not be folded away."""
        return any(field.errors or (self.is_bound and field.data) for field in self.more_fields)

    def ready(self) -> "InstanceForm":
        """Itself, with the focus on the first field that is wrong, or on the first of all."""
        wrong = next((name for name in self.fields if name in self.errors), "name")
        self.fields[wrong].widget.attrs["autofocus"] = True
        return self

    def _offer(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        field.choices = list(choices)

    def wanted(self) -> dict[str, Any]:
        """The fields of `InstanceCreate`."""
        data = self.cleaned_data
        # Browsers send CRLF; a script that begins with "#!/bin/sh\r" would not run.
        user_data = data["user_data"].replace("\r\n", "\n")
        return {
            "name": data["name"] or "trial",
            "flavor": data["flavor"],
            "image": data["image"],
            "min_count": data["min_count"],
            "availability_zone": data["availability_zone"],
            "key_name": data["key_name"],
            "hints": {"group": data["group"]} if data["group"] else {},
            "user_data": base64.b64encode(user_data.encode()).decode(),
            "tags": words_of(data["tags"]),
        }


def words_of(text: str) -> list[str]:
    """Words that a person separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _flavor_label(flavor: Any) -> str:
    return f"{flavor.name}: {flavor.vcpus} vCPU, {flavor.memory_mib:,} MiB memory, {flavor.root_gib} GiB disk"
