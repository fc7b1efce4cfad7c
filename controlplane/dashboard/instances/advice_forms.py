"""Where advice about an instance that found no host is carried out: forms that are filled in with it, for admins.

Nothing is done by following one: a form is looked at and saved, and a draft of a policy counts once it is activated.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from placement.selectors.usage import inventory_row_ids
from scheduling.domain.policy import policy_to_dict
from scheduling.fleet.selectors.aggregates import aggregates_named
from scheduling.fleet.selectors.hosts import nodes_of_hosts
from scheduling.policies.selectors.policies import DEFAULTS, active_id, policy_active, policy_get
from servers.trials.next_steps import NextStep

MAX_HOSTS = 5
"""So many hosts of one piece of advice have a link of their own."""
SIZES = ("vcpus", "memory_mib", "root_gib", "ephemeral_gib", "swap_mib")
LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class AdviceForm:
    """A link to a form that is filled in; with `fields` a button that makes the draft that its form is about."""

    label: str
    path: str
    fields: tuple[tuple[str, str], ...] = ()


def advice_forms(request: HttpRequest, step: NextStep) -> list[AdviceForm]:
    """The forms for one piece of advice. What is done outside, or has no form, has none."""
    edits: Mapping[str, Any] = step.trial.get("edits", {})
    forms = list(_aggregates(edits.get("aggregates", ())))
    if request.user.has_perm("placement.change_inventory") and getattr(request.user, "is_staff", False):
        forms += _ratios(edits.get("allocation_ratios", ()))
    if "policy" in edits:
        forms.append(_policy(edits["policy"], step.sentence))
    if isinstance(flavor := step.trial.get("flavor"), Mapping):
        forms.append(_flavor(flavor))
    hosts = [*edits.get("hosts_up", ()), *(one["host"] for one in edits.get("freed", ()))]
    return [
        *forms,
        *(
            AdviceForm(_("Open %(host)s") % {"host": host}, f"/hosts/{quote(host, safe='')}/")
            for host in hosts[:MAX_HOSTS]
        ),
    ]


def _aggregates(edits: Any) -> Iterator[AdviceForm]:
    ids = {name: pk for pk, name in aggregates_named()} if edits else {}
    for one in edits:
        if one["name"] not in ids:
            continue
        pairs = [("spec_key", key) for key, value in one["metadata"].items() if value is not None]
        pairs += [("spec_value", value) for value in one["metadata"].values() if value is not None]
        pairs += [("drop", key) for key, value in one["metadata"].items() if value is None]
        pairs += [("add", host) for host in one["hosts_added"]] + [("remove", host) for host in one["hosts_removed"]]
        path = reverse("aggregate-edit", args=[ids[one["name"]]])
        yield AdviceForm(_("Edit the aggregate %(name)s so") % {"name": one["name"]}, f"{path}?{urlencode(pairs)}")


def _ratios(edits: Any) -> Iterator[AdviceForm]:
    """The numbers of a host's resources are stated in the Django admin, which shows the effect before it saves."""
    for one in edits:
        nodes = dict(nodes_of_hosts(one["hosts"][:MAX_HOSTS]))
        hosts = {node: host for host, node in nodes.items()}
        for name, pk in inventory_row_ids(providers=hosts, resource_class=one["resource_class"]).items():
            path = reverse("admin:placement_inventory_change", args=[pk])
            query = urlencode({"allocation_ratio": f"{one['ratio']:g}"})
            label = _("Set the overcommit of %(resource)s on %(host)s")
            words = {"resource": one["resource_class"], "host": hosts[name]}
            yield AdviceForm(label % words, f"{path}?{query}")


def _policy(wanted: Mapping[str, Any], sentence: str) -> AdviceForm:
    """A draft that is a copy of what counts now, with what the advice changes and nothing else."""
    now, active = policy_to_dict(policy_active()), active_id()
    changes = {name: value for name, value in wanted.items() if name != "options" and value != now[name]}
    options = {name: value for name, value in wanted["options"].items() if value != now["options"][name]}
    changes |= {"options": options} if options else {}
    fields = (
        ("copy_of", str(active) if active else DEFAULTS),
        ("name", policy_get(policy_id=active).name if active else "default"),
        ("comment", sentence),
        ("changes", json.dumps(changes)),
    )
    return AdviceForm(_("Make a draft of the policy so"), reverse("policy-new"), fields)


def _flavor(flavor: Mapping[str, Any]) -> AdviceForm:
    specs = sorted(flavor.get("extra_specs", {}).items())
    pairs = [("name", f"{flavor['name']}-copy"[:LONGEST_NAME]), *((name, flavor[name]) for name in SIZES)]
    pairs += [pair for key, value in specs for pair in (("spec_key", key), ("spec_value", value))]
    return AdviceForm(_("Create such a flavor"), f"{reverse('flavor-new')}?{urlencode(pairs)}")
