"""The form of the page that simulates: a request, and what is imagined about policy and fleet. For admins."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.dashboard.pairs_field import PairsField
from controlplane.kernel.units import size_text
from scheduling.whatif.domain.edits import FleetEdits, HostAddEdit, RatioEdit
from servers.trials.schedule_trial import TrialWanted

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAXIMUM = 2**31 - 1
RATIOS = {"vcpu_ratio": "VCPU", "memory_ratio": "MEMORY_MB", "disk_ratio": "DISK_GB"}
# Where the service's names of fields differ from the form's.
FIELD_NAMES = {"hosts_added": "add_like", "allocation_ratios": "ratio_hosts", "hints": "group"}
OWN = "own"


def _size(one: Any) -> str:
    return size_text(vcpus=one.vcpus, memory_mib=one.memory_mib, root_gib=one.root_gib).sentence(gettext)


class NamesField(forms.CharField):
    """Names separated by spaces, commas or lines; cleaned to a tuple without doubles."""

    def clean(self, value: Any) -> tuple[str, ...]:
        """Whether they are there is for the service to say."""
        return tuple(dict.fromkeys(super().clean(value).replace(",", " ").split()))


def _names(label: "StrOrPromise", help_text: "StrOrPromise" = "") -> NamesField:
    widget = forms.TextInput(attrs={"list": "hosts", "autocomplete": "off"})
    return NamesField(label=label, required=False, help_text=help_text, widget=widget)


def _whole(
    label: "StrOrPromise", minimum: int = 0, maximum: int = MAXIMUM, help_text: "StrOrPromise" = ""
) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"class": "short"})
    return forms.IntegerField(
        label=label, required=False, min_value=minimum, max_value=maximum, help_text=help_text, widget=widget
    )


def _ratio(label: "StrOrPromise") -> forms.FloatField:
    widget = forms.NumberInput(attrs={"class": "short", "step": "any"})
    return forms.FloatField(label=label, required=False, min_value=0.0, max_value=1_000_000.0, widget=widget)


class SimulateForm(forms.Form):
    """All of it may be left as it is, but for a flavor."""

    REQUEST = ("flavor", "image", "count", "availability_zone")
    SIZES = ("vcpus", "memory_mib", "root_gib", "extra_specs")
    CARDS = ("networks", "ports", "no_network")
    MORE = ("group", "host", "seed")
    POLICY = ("policy",)
    HOSTS = ("hosts_enabled", "hosts_disabled", "hosts_up", "hosts_removed", "add_like", "add_count")
    OVERCOMMIT = ("vcpu_ratio", "memory_ratio", "disk_ratio", "ratio_hosts")

    flavor = forms.ChoiceField(label=_("Flavor"), help_text=_("Or a custom size."))
    image = forms.ChoiceField(label=_("Image"), required=False)
    count = forms.IntegerField(
        label=_("How many"),
        required=False,
        min_value=1,
        max_value=100,
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    availability_zone = forms.CharField(
        label=_("Availability zone"),
        required=False,
        help_text=_("Empty for any; zone:host, zone:host:node or zone::node forces one."),
        widget=forms.TextInput(attrs={"list": "zones"}),
    )
    vcpus = _whole(_("vCPUs"), 1)
    memory_mib = _whole(_("Memory in MiB"), 1)
    root_gib = _whole(_("Disk in GiB"))
    extra_specs = PairsField(
        label=_("Extra specs"),
        required=False,
        help_text=_("One key = value a line."),
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
    )
    networks = forms.MultipleChoiceField(
        label=_("Networks"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("A network card in each. None marked: what a request that names none would get."),
    )
    ports = NamesField(
        label=_("Ports"),
        required=False,
        help_text=_("Ids or names of ports that are there, such as those of a PCI device or with a bandwidth."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    no_network = forms.BooleanField(label=_("No network card at all"), required=False)
    group = forms.ChoiceField(label=_("Server group"), required=False)
    host = forms.CharField(
        label=_("Why not this host?"),
        required=False,
        widget=forms.TextInput(attrs={"list": "hosts", "autocomplete": "off"}),
        help_text=_("Every rule that refuses it, and what would change that."),
    )
    seed = _whole(_("Seed"), help_text=_("Equal seeds give equal answers; empty for a fresh one."))
    policy = forms.ChoiceField(label=_("Policy"), required=False)
    hosts_enabled = _names(_("Enable"), _("Names, separated by spaces or commas."))
    hosts_disabled = _names(_("Disable"))
    hosts_up = _names(_("Bring up"), _("As if their agents reported."))
    hosts_removed = _names(_("Take away"))
    add_like = forms.CharField(
        label=_("Add hosts like"),
        required=False,
        help_text=_("Empty copies of this one."),
        widget=forms.TextInput(attrs={"list": "hosts", "autocomplete": "off"}),
    )
    add_count = _whole(_("How many of them"), 1, 1000)
    vcpu_ratio = _ratio(_("vCPUs"))
    memory_ratio = _ratio(_("Memory"))
    disk_ratio = _ratio(_("Disk"))
    ratio_hosts = _names(_("On these hosts"), _("On all when empty."))

    def __init__(
        self,
        data: Any,
        *,
        flavors: Iterable[Any],
        images: Iterable[Any],
        groups: Iterable[Any],
        networks: Iterable[Any],
        policies: Iterable[Any],
        zones: Sequence[str],
        hosts: Sequence[str],
    ) -> None:
        super().__init__(data)
        self.zones, self.hosts = zones, hosts
        sizes = [
            (
                str(one.pk),
                f"{one.name}: {_size(one)}",
            )
            for one in flavors
        ]
        self._offer("flavor", [*sizes, (OWN, gettext("custom size"))])
        self._offer("image", [("", gettext("none")), *((str(one.pk), one.name) for one in images)])
        self._offer("group", [("", gettext("none")), *((str(one.pk), f"{one.name} ({one.policy})") for one in groups)])
        self._offer("networks", ((str(one.pk), one.name or str(one.pk)) for one in networks))
        states = [(str(one.pk), f"{one.label} ({gettext(one.state)})") for one in policies]
        self._offer("policy", [("", gettext("active policy")), *states])

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
                    self.add_error(name, gettext("Needed for a custom size."))
        if data.get("no_network") and (data.get("networks") or data.get("ports")):
            self.add_error("no_network", gettext("Cards are chosen above: take away these, or this mark."))
        if data.get("add_count") and not data.get("add_like"):
            self.add_error("add_like", gettext("Like which host?"))
        return data

    @property
    def groups_of_fields(self) -> list[tuple[str, bool, list[forms.BoundField]]]:
        """(heading, whether it is open, fields) of what is folded away until it is needed."""
        parts = (
            (gettext("Custom size"), self.SIZES),
            (gettext("Networks"), self.CARDS),
            (gettext("Server group, one host, seed"), self.MORE),
            (gettext("What if: hosts"), self.HOSTS),
            (gettext("What if: overcommit"), self.OVERCOMMIT),
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
            networks=self._cards(),
            policy=data["policy"] or None,
            edits=self._edits(),
            seed=data["seed"],
        )

    def _cards(self) -> object:
        data = self.cleaned_data
        if data["no_network"]:
            return "none"
        cards = [{"network": one} for one in data["networks"]] + [{"port": one} for one in data["ports"]]
        return cards or None

    def _flavor(self) -> str | dict[str, Any]:
        data = self.cleaned_data
        if data["flavor"] != OWN:
            return str(data["flavor"])
        sizes = {name: data[name] or 0 for name in ("vcpus", "memory_mib", "root_gib")}
        return {"name": "custom size", **sizes, "extra_specs": data["extra_specs"]}

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
