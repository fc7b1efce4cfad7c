"""What a server group may say."""

from collections.abc import Mapping

from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.groups import GroupPolicy
from servers.fields import Problems, Reasons, name_reasons, problems_found, whole_number_reasons


def group_problems(*, name: object, policy: object, rules: object) -> Problems:
    """Everything that is wrong with a new group, by field."""
    allowed = [word.value for word in GroupPolicy]
    wrong = (
        []
        if policy in allowed
        else [_("Is {policy!r:.80}; it must be one of {allowed}.", policy=policy, allowed=", ".join(allowed))]
    )
    return problems_found({"name": name_reasons(name), "policy": wrong, "rules": _rule_reasons(policy, rules)})


def _rule_reasons(policy: object, rules: object) -> Reasons:
    if not isinstance(rules, Mapping):
        return [_("Must be an object.")]
    reasons = [
        _("{key!r:.80} is not a rule; max_server_per_host is.", key=key)
        for key in rules
        if key != "max_server_per_host"
    ]
    if "max_server_per_host" in rules:
        if policy != GroupPolicy.ANTI_AFFINITY:
            reasons.append(_("max_server_per_host goes with the policy anti-affinity only."))
        wrong = whole_number_reasons(rules["max_server_per_host"], minimum=1)
        reasons += [f"max_server_per_host: {reason}" for reason in wrong]
    return reasons
