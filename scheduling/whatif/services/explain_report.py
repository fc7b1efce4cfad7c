"""An explanation as plain values for API and pages. Tenants see changes of their own request, and no host."""

from dataclasses import asdict
from typing import Any

from scheduling.decisions.selectors.report import explanation_report, refusal_report
from scheduling.domain.policy import policy_to_dict
from scheduling.domain.request.schedule_request import ScheduleRequest, request_to_dict
from scheduling.whatif.domain.edits import FleetEdits
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, Trial
from scheduling.whatif.domain.nearest_fit.reasons import NO_CHANGE
from scheduling.whatif.domain.nearest_fit.search import Fit
from scheduling.whatif.services.explain import ExplainAnswer, HostAnswer
from scheduling.whatif.services.simulate_report import run_report

# Changes that are made inside the flavor, so that naming it is not enough.
_INSIDE = frozenset({"vcpus", "memory_mib", "root_gib", "trait", "extra_spec", "pci_devices"})
# Changes that no body can say: a group's rules are set when it is made.
_UNSAYABLE = frozenset({"group_rule"})


def answer_report(answer: ExplainAnswer, *, redacted: bool) -> dict[str, Any]:
    """The run, the host that was asked about, and what would make the request fit."""
    fits = [fit for fit in answer.fits if not redacted or _is_tenants(fit)]
    shown = run_report(answer.trace, redacted=redacted)
    return {
        **shown,
        "host": None if answer.host is None or redacted else _host(answer.trial, answer.host),
        "changes": [_fit(answer.trial, fit, redacted=redacted) for fit in fits],
        "no_changes": _no_changes(answer),
        "duration_us": answer.duration_us,
    }


def _no_changes(answer: ExplainAnswer) -> list[dict[str, str]]:
    """For each reason against which no change is ever offered, why; in the order of the reasons' names."""
    reasons = {refusal.reason for _, refusal in answer.trace.refusals()}
    return [
        {"reason": reason.value, "sentence": NO_CHANGE[reason]} for reason in sorted(reasons) if reason in NO_CHANGE
    ]


def _is_tenants(fit: Fit) -> bool:
    """Whoever asks can do it alone, and no host is named."""
    return fit.kinds == {ChangeKind.REQUEST} and not any(step.names_host for step in fit.steps)


def _host(before: Trial, answer: HostAnswer) -> dict[str, Any]:
    return {
        **explanation_report(answer.explanation),
        "rules": [refusal_report(one) for one in answer.rules],
        "changes": [_fit(before, fit, redacted=False) for fit in answer.fits],
    }


def _fit(before: Trial, fit: Fit, *, redacted: bool) -> dict[str, Any]:
    """One set of changes. `simulate` is what to say to simulate instead, so that anybody can see it work; None for
    changes that it cannot say.
    """
    return {
        "sentence": fit.sentence,
        "size": round(fit.size, 6),
        "kinds": sorted(kind.value for kind in fit.kinds),
        "steps": [
            {"kind": step.kind.value, "what": step.what, "sentence": step.sentence, "size": round(step.size, 6)}
            for step in fit.steps
        ],
        "verdict": fit.trace.verdict_redacted if redacted else fit.trace.verdict,
        "simulate": _simulate_body(before, fit, redacted=redacted),
    }


def _simulate_body(before: Trial, fit: Fit, *, redacted: bool) -> dict[str, Any] | None:
    """What of a request to simulate is different; None where no such body can say it."""
    if any(step.what in _UNSAYABLE for step in fit.steps):
        return None
    body, then = _asked(before.request, fit), fit.trial
    if redacted:
        # Objects in place of a flavor or an image are for operators, as edits and policies are.
        return {name: value for name, value in body.items() if name == "hints" or not isinstance(value, dict)}
    edits: dict[str, Any] = edits_to_dict(then.edits)
    if then.policy != before.policy:
        edits["policy"] = policy_to_dict(then.policy)
    return {**body, "edits": edits} if edits else body


def edits_to_dict(edits: FleetEdits) -> dict[str, Any]:
    """The edits as simulate takes them; what is empty is left out."""
    return {name: _plain(value) for name, value in asdict(edits).items() if value}


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


def _asked(before: ScheduleRequest, fit: Fit) -> dict[str, Any]:
    """What of the body is different, as simulate takes it."""
    old, new = request_to_dict(before), request_to_dict(fit.trial.request)
    body: dict[str, Any] = {}
    if new["flavor"] != old["flavor"]:
        body["flavor"] = new["flavor"]["id"] if _is_offer(fit) else _flavor(new["flavor"])
    if new["image"] != old["image"]:
        body["image"] = {"name": new["image"]["name"], "properties": new["image"]["properties"]}
    if any(new[name] != old[name] for name in ("availability_zone", "force_hosts", "force_nodes")):
        body["availability_zone"] = _zone(new)
    if new["hints"] != old["hints"] or new["group"] != old["group"]:
        group = {"group": new["group"]["uuid"]} if new["group"] else {}
        body["hints"] = {**new["hints"], **group}
    if len(new["instance_uuids"]) != len(old["instance_uuids"]):
        body["count"] = len(new["instance_uuids"])
    return body


def _zone(request: dict[str, Any]) -> str:
    """Zone, forced host and forced node in the one text that a request has for them."""
    parts = [request["availability_zone"] or "", *(request["force_hosts"][:1] or [""]), *request["force_nodes"][:1]]
    return ":".join(parts).rstrip(":")


def _is_offer(fit: Fit) -> bool:
    """Whether the flavor is one of those on offer, with nothing changed inside it."""
    whats = {step.what for step in fit.steps}
    return "flavor" in whats and not any(what in _INSIDE or what.startswith("resources:") for what in whats)


def _flavor(flavor: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flavor.items() if name not in ("id", "given_id")}
