"""The form of the page that simulates: a request, and what is imagined about policy and fleet. For admins."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms

from scheduling.whatif.domain.edits import FleetEdits, HostAddEdit, RatioEdit
from servers.trials.schedule_trial import TrialWanted

MAXIMUM = 2**31 - 1
RATIOS = {"vcpu_ratio": "VCPU", "memory_ratio": "MEMORY_MB", "disk_ratio": "DISK_GB"}
# Where the service's names of fields differ from the form's.
FIELD_NAMES = {"hosts_added": "add_like", "allocation_ratios": "ratio_hosts", "hints": "group"}
OWN = "own"


class HostNamesField(forms.CharField):
    """Names of hosts, separated by spaces, commas or lines; cleaned to a tuple without doubles."""

    def clean(self, value: Any) -> tuple[str, ...]:
        """Whether they are there is for the service to say."""
        return tuple(dict.fromkeys(super().clean(value).replace(",", " ").split()))


class PairsField(forms.CharField):
    """Lines of `key = value`; cleaned to a dictionary."""

    def clean(self, value: Any) -> dict[str, str]:
        """Raises ValidationError naming the line."""
        pairs: dict[str, str] = {}
        for line in super().clean(value).splitlines():
            key, sign, text = line.partition("=")
            if line.strip() and not (sign and key.strip()):
                raise forms.ValidationError(f"“{line.strip():.80}” is not of the form key = value.")
            if line.strip():
                pairs[key.strip()] = text.strip()
        return pairs


def _names(label: str, help_text: str = "") -> HostNamesField:
    widget = forms.TextInput(attrs={"list": "hosts", "autocomplete": "off"})
    return HostNamesField(label=label, required=False, help_text=help_text, widget=widget)


def _whole(label: str, minimum: int = 0, maximum: int = MAXIMUM, help_text: str = "") -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"class": "short"})
    return forms.IntegerField(
        label=label, required=False, min_value=minimum, max_value=maximum, help_text=help_text, widget=widget
    )


def _ratio(label: str) -> forms.FloatField:
    widget = forms.NumberInput(attrs={"class": "short", "step": "any"})
    return forms.FloatField(label=label, required=False, min_value=0.0, max_value=1_000_000.0, widget=widget)


class SimulateForm(forms.Form):
    """All of it may be left as it is, but for a flavor."""

    REQUEST = ("flavor", "image", "count", "availability_zone")
    SIZES = ("vcpus", "memory_mib", "root_gib", "extra_specs")
    MORE = ("group", "host", "seed")
    POLICY = ("policy",)
    HOSTS = ("hosts_enabled", "hosts_disabled", "hosts_up", "hosts_removed", "add_like", "add_count")
    OVERCOMMIT = ("vcpu_ratio", "memory_ratio", "disk_ratio", "ratio_hosts")

    flavor = forms.ChoiceField(help_text="Or “sizes below”, for one that is stored nowhere.")
    image = forms.ChoiceField(required=False)
    count = forms.IntegerField(
        label="How many", required=False, min_value=1, max_value=100, widget=forms.NumberInput(attrs={"class": "short"})
    )
    availability_zone = forms.CharField(
        label="Availability zone",
        required=False,
        help_text="Empty for any; zone:host, zone:host:node or zone::node forces one.",
        widget=forms.TextInput(attrs={"list": "zones"}),
    )
    vcpus = _whole("vCPUs", 1)
    memory_mib = _whole("Memory in MiB", 1)
    root_gib = _whole("Disk in GiB")
    extra_specs = PairsField(
        label="Extra specs",
        required=False,
        help_text="One key = value a line.",
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
    )
    group = forms.ChoiceField(label="Server group", required=False)
    host = forms.CharField(
        label="Why not this host?",
        required=False,
        widget=forms.TextInput(attrs={"list": "hosts", "autocomplete": "off"}),
        help_text="Every rule that refuses it, and what would change that.",
    )
    seed = _whole("Seed", help_text="Equal seeds give equal answers; empty for a fresh one.")
    policy = forms.ChoiceField(label="Policy", required=False)
    hosts_enabled = _names("Enable", "Names, separated by spaces or commas.")
    hosts_disabled = _names("Disable")
    hosts_up = _names("Bring up", "As if their agents reported.")
    hosts_removed = _names("Take away")
    add_like = forms.CharField(
        label="Add hosts like",
        required=False,
        help_text="Empty copies of this one.",
        widget=forms.TextInput(attrs={"list": "hosts", "autocomplete": "off"}),
    )
    add_count = _whole("How many of them", 1, 1000)
    vcpu_ratio = _ratio("vCPUs")
    memory_ratio = _ratio("Memory")
    disk_ratio = _ratio("Disk")
    ratio_hosts = _names("On these hosts", "On all when empty.")

    def __init__(
        self,
        data: Any,
        *,
        flavors: Iterable[Any],
        images: Iterable[Any],
        groups: Iterable[Any],
        policies: Iterable[Any],
        zones: Sequence[str],
        hosts: Sequence[str],
    ) -> None:
        super().__init__(data)
        self.zones, self.hosts = zones, hosts
        sizes = [(str(one.pk), f"{one.name}: {one.vcpus} vCPU, {one.memory_mib:,} MiB") for one in flavors]
        self._offer("flavor", [*sizes, (OWN, "sizes below")])
        self._offer("image", [("", "none"), *((str(one.pk), one.name) for one in images)])
        self._offer("group", [("", "none"), *((str(one.pk), f"{one.name} ({one.policy})") for one in groups)])
        states = [(str(one.pk), f"{one.label} ({one.state})") for one in policies]
        self._offer("policy", [("", "the one that counts now"), *states])

    def _offer(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        field.choices = list(choices)

    def clean(self) -> dict[str, Any]:
        """Own sizes must be there when they are chosen; copies need a host that they are like."""
        data: dict[str, Any] = super().clean() or {}
        if data.get("flavor") == OWN and self.data.get("run"):
            for name in ("vcpus", "memory_mib"):
                if not data.get(name) and name not in self.errors:
                    self.add_error(name, "Needed for sizes of your own.")
        if data.get("add_count") and not data.get("add_like"):
            self.add_error("add_like", "Like which host?")
        return data

    @property
    def groups_of_fields(self) -> list[tuple[str, bool, list[forms.BoundField]]]:
        """(heading, whether it is open, fields) of what is folded away until it is needed."""
        parts = (
            ("Sizes of your own", self.SIZES),
            ("Server group, one host, seed", self.MORE),
            ("Hosts", self.HOSTS),
            ("Overcommit", self.OVERCOMMIT),
        )
        return [(title, self._is_open(names), [self[name] for name in names]) for title, names in parts]

    @property
    def request_fields(self) -> list[forms.BoundField]:
        """What everybody fills in."""
        return [self[name] for name in (*self.REQUEST, *self.POLICY)]

    def _is_open(self, names: Sequence[str]) -> bool:
        chosen_own = self.is_bound and names == self.SIZES and self["flavor"].data == OWN
        return chosen_own or any(self[name].errors or (self.is_bound and self[name].data) for name in names)

    def wanted(self) -> TrialWanted:
        """The request as the service takes it."""
        data = self.cleaned_data
        return TrialWanted(
            flavor=self._flavor(),
            image=data["image"],
            count=data["count"] or 1,
            availability_zone=data["availability_zone"],
            hints={"group": data["group"]} if data["group"] else {},
            policy=data["policy"] or None,
            edits=self._edits(),
            seed=data["seed"],
        )

    def _flavor(self) -> str | dict[str, Any]:
        data = self.cleaned_data
        if data["flavor"] != OWN:
            return str(data["flavor"])
        sizes = {name: data[name] or 0 for name in ("vcpus", "memory_mib", "root_gib")}
        return {"name": "sizes of your own", **sizes, "extra_specs": data["extra_specs"]}

    def _edits(self) -> FleetEdits:
        data = self.cleaned_data
        ratios = tuple(
            RatioEdit(resource_class, data[name], data["ratio_hosts"])
            for name, resource_class in RATIOS.items()
            if data[name] is not None
        )
        added = (HostAddEdit(data["add_like"], data["add_count"] or 1),) if data["add_like"] else ()
        names = {name: data[name] for name in ("hosts_enabled", "hosts_disabled", "hosts_up", "hosts_removed")}
        return FleetEdits(**names, hosts_added=added, allocation_ratios=ratios)
