"""The create form. It offers; the service decides, so that page and API have the same rules."""

import base64
from collections.abc import Iterable
from typing import Any

from django import forms


class InstanceForm(forms.Form):
    """What a person fills in; `wanted` gives it as the service takes it."""

    name = forms.CharField(help_text="Letters, digits and most other characters; up to 255.", strip=False)
    flavor = forms.ChoiceField(help_text="How many vCPUs, how much memory and disk.")
    image = forms.ChoiceField(help_text="What it boots from.")
    min_count = forms.IntegerField(label="How many", initial=1, help_text="All of them, or none if they do not fit.")
    availability_zone = forms.CharField(
        label="Zone",
        required=False,
        help_text="Leave empty for any. Admins may write zone:host.",
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
    ) -> None:
        super().__init__(data)
        self.zones = list(zones)
        self._offer("flavor", ((str(one.pk), _flavor_label(one)) for one in flavors if not one.disabled))
        self._offer("image", ((str(one.pk), one.name) for one in images if one.status == "active"))
        self._offer("key_name", [("", "none"), *((one.name, one.name) for one in keypairs)])
        self._offer("group", [("", "none"), *((str(one.pk), f"{one.name} ({one.policy})") for one in groups)])
        for name in self.errors if data is not None else ():
            self.fields[name].widget.attrs["aria-invalid"] = "true"

    def _offer(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        field.choices = list(choices)

    def wanted(self) -> dict[str, Any]:
        """The fields of `InstanceCreate`."""
        data = self.cleaned_data
        return {
            "name": data["name"],
            "flavor": data["flavor"],
            "image": data["image"],
            "min_count": data["min_count"],
            "availability_zone": data["availability_zone"],
            "key_name": data["key_name"],
            "hints": {"group": data["group"]} if data["group"] else {},
            "user_data": base64.b64encode(data["user_data"].encode()).decode(),
            "tags": [word.strip() for word in data["tags"].split(",") if word.strip()],
        }


def _flavor_label(flavor: Any) -> str:
    return f"{flavor.name}: {flavor.vcpus} vCPU, {flavor.memory_mib} MiB memory, {flavor.root_gib} GiB disk"
