"""Trials on the wire: a request with what-if edits in; a run, what would make it fit, and capacity out."""

import math
from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from scheduling.whatif.domain.edits import AggregateEdit, FleetEdits, FreedEdit, HostAddEdit, RatioEdit

MAXIMUM = 2**31 - 1
MAX_NAMES = 1000
MAX_PAIRS = 200


class NameOrObject(serializers.JSONField):
    """An id or a name, or an object that says it all."""

    def to_internal_value(self, data: Any) -> Any:
        """Text or an object; anything else is refused."""
        if isinstance(data, str | dict):
            return data
        raise serializers.ValidationError("Must be an id or a name, or an object.")


class InlineFlavorInput(StrictInput):
    """Sizes of a flavor that is stored nowhere. Memory and swap are MiB, disks GiB."""

    name = serializers.CharField(default="inline", max_length=255)
    vcpus = serializers.IntegerField(min_value=1, max_value=MAXIMUM)
    memory_mib = serializers.IntegerField(min_value=1, max_value=MAXIMUM)
    root_gib = serializers.IntegerField(default=0, min_value=0, max_value=MAXIMUM)
    ephemeral_gib = serializers.IntegerField(default=0, min_value=0, max_value=MAXIMUM)
    swap_mib = serializers.IntegerField(default=0, min_value=0, max_value=MAXIMUM)
    extra_specs = serializers.DictField(child=serializers.CharField(max_length=1000), default=dict)


class InlineImageInput(StrictInput):
    """Properties of an image that is stored nowhere."""

    name = serializers.CharField(default="inline", max_length=255)
    properties = serializers.DictField(default=dict)
    min_disk_gib = serializers.IntegerField(default=0, min_value=0, max_value=MAXIMUM)
    min_ram_mib = serializers.IntegerField(default=0, min_value=0, max_value=MAXIMUM)


def _names(**options: Any) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=255), default=list, max_length=MAX_NAMES, **options
    )


class RatioInput(StrictInput):
    """Another allocation ratio of one resource class, on some hosts or on all."""

    resource_class = serializers.CharField(max_length=255)
    ratio = serializers.FloatField(min_value=0.0, max_value=1_000_000.0)
    hosts = _names(help_text="These hosts; all when left out.")

    def validate_ratio(self, value: float) -> float:
        """No infinity, no NaN."""
        if not math.isfinite(value):
            raise serializers.ValidationError("Must be a finite number.")
        return value


class FreedInput(StrictInput):
    """So much less in use on one host."""

    host = serializers.CharField(max_length=255)
    resource_class = serializers.CharField(max_length=255)
    amount = serializers.IntegerField(min_value=1, max_value=MAXIMUM)


class HostAddInput(StrictInput):
    """Empty copies of a host."""

    like = serializers.CharField(max_length=255)
    count = serializers.IntegerField(default=1, min_value=1, max_value=1000)


class AggregateEditInput(StrictInput):
    """Changes of an aggregate, by name. Metadata is merged; null removes a key."""

    name = serializers.CharField(max_length=255)
    metadata = serializers.DictField(child=serializers.CharField(max_length=255, allow_null=True), default=dict)
    hosts_added = _names()
    hosts_removed = _names()


class EditsInput(StrictInput):
    """What is imagined about policy and fleet. For operators."""

    policy = NameOrObject(required=False, allow_null=True, help_text="A version's id or label, or a policy's body.")
    allocation_ratios = RatioInput(many=True, default=list)
    hosts_enabled = _names()
    hosts_disabled = _names()
    hosts_up = _names()
    hosts_added = HostAddInput(many=True, default=list)
    hosts_removed = _names()
    freed = FreedInput(many=True, default=list)
    aggregates = AggregateEditInput(many=True, default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """No list longer than a trial can bear."""
        for name, value in attrs.items():
            if isinstance(value, list) and len(value) > MAX_PAIRS and name not in _NAME_LISTS:
                raise serializers.ValidationError({name: [f"At most {MAX_PAIRS} are allowed."]})
        return attrs


_NAME_LISTS = frozenset({"hosts_enabled", "hosts_disabled", "hosts_up", "hosts_removed"})


class SimulateInput(StrictInput):
    """A request to be tried. Objects for flavor and image, and edits, are for operators."""

    flavor = NameOrObject(help_text="Id or name; or an object: vcpus, memory_mib, root_gib, ..., extra_specs.")
    image = NameOrObject(required=False, help_text="Id or name; or an object: properties. May be left out.")
    count = serializers.IntegerField(default=1, min_value=1, max_value=100)
    availability_zone = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="A zone; admins may say zone:host, zone:host:node or zone::node.",
        max_length=800,
    )
    hints = serializers.DictField(default=dict, help_text="As in a create.")
    block_device_mapping_v2 = serializers.JSONField(
        required=False, default=None, help_text="The disks, as in a create; nothing is reserved."
    )
    networks = serializers.JSONField(
        required=False,
        help_text="As in a create. Left out: what a create without them would get, as far as that can be said.",
    )
    edits = EditsInput(required=False)
    seed = serializers.IntegerField(
        required=False, min_value=0, max_value=MAXIMUM, help_text="Equal seeds, equal answers."
    )

    def validate_flavor(self, value: Any) -> Any:
        """The fields of an object are checked."""
        return _checked(InlineFlavorInput, value)

    def validate_image(self, value: Any) -> Any:
        """The fields of an object are checked."""
        return _checked(InlineImageInput, value)


class ExplainInput(SimulateInput):
    """The same, and which host is asked about (operators)."""

    host = serializers.CharField(required=False, max_length=255, help_text="A host or node.")
    force = serializers.BooleanField(default=False, help_text="Tell every rule that refuses the host, not the first.")


def _checked(kind: type[StrictInput], value: Any) -> Any:
    if isinstance(value, str):
        return value
    body = kind(data=value)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


def fleet_edits(edits: dict[str, Any]) -> FleetEdits:
    """The edits of the fleet as the engine takes them."""
    return FleetEdits(
        hosts_removed=tuple(edits.get("hosts_removed", ())),
        hosts_added=tuple(HostAddEdit(**one) for one in edits.get("hosts_added", ())),
        hosts_enabled=tuple(edits.get("hosts_enabled", ())),
        hosts_disabled=tuple(edits.get("hosts_disabled", ())),
        hosts_up=tuple(edits.get("hosts_up", ())),
        freed=tuple(FreedEdit(**one) for one in edits.get("freed", ())),
        allocation_ratios=tuple(
            RatioEdit(one["resource_class"], one["ratio"], tuple(one["hosts"]))
            for one in edits.get("allocation_ratios", ())
        ),
        aggregates=tuple(
            AggregateEdit(one["name"], one["metadata"], tuple(one["hosts_added"]), tuple(one["hosts_removed"]))
            for one in edits.get("aggregates", ())
        ),
    )


class LackOutput(serializers.Serializer[Any]):
    """What the nearest host lacks. `host` is for operators."""

    host = serializers.CharField(required=False)
    lacks = serializers.ListField(child=serializers.DictField())


class ReasonOutput(serializers.Serializer[Any]):
    """Hosts refused for one reason."""

    reason = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of that name, not the label of a field
    hosts = serializers.IntegerField()


class StageOutput(serializers.Serializer[Any]):
    """One step of the funnel."""

    name = serializers.CharField()
    hosts_in = serializers.IntegerField()
    hosts_out = serializers.IntegerField()
    micros = serializers.IntegerField()
    reasons = ReasonOutput(many=True)


class RunOutput(serializers.Serializer[Any]):
    """One dry run. From `seed` on for operators only."""

    outcome = serializers.ChoiceField(choices=["selected", "no_valid_host"])
    verdict = serializers.CharField()
    policy_version = serializers.CharField()
    host_count = serializers.IntegerField()
    instance_count = serializers.IntegerField()
    placed = serializers.IntegerField()
    zones = serializers.DictField(child=serializers.IntegerField(), help_text="Instances by zone.")
    resources = serializers.DictField(child=serializers.IntegerField())
    funnel = StageOutput(many=True)
    reasons = ReasonOutput(many=True)
    nearest = LackOutput(allow_null=True)
    duration_us = serializers.IntegerField()
    seed = serializers.IntegerField(required=False)
    notes = serializers.ListField(child=serializers.CharField(), required=False)
    selections = serializers.ListField(child=serializers.DictField(), required=False)
    refusals = serializers.ListField(child=serializers.DictField(), required=False)
    scores = serializers.ListField(child=serializers.DictField(), required=False)


class ChangeOutput(serializers.Serializer[Any]):
    """Changes that make it fit; a run showed it. `simulate` holds the fields of a body that tries them; null where no
    body can say them.
    """

    sentence = serializers.CharField()
    size = serializers.FloatField(help_text="How much is given up, in parts of a whole: smaller is nearer.")
    kinds = serializers.ListField(child=serializers.ChoiceField(choices=["request", "policy", "fleet"]))
    steps = serializers.ListField(child=serializers.DictField())
    verdict = serializers.CharField()
    simulate = serializers.DictField(allow_null=True)


class NoChangeOutput(serializers.Serializer[Any]):
    """A reason of refusals against which no change is ever offered, and why."""

    reason = serializers.CharField()
    sentence = serializers.CharField()


class HostAnswerOutput(serializers.Serializer[Any]):
    """Why not this host."""

    host = serializers.CharField()
    result = serializers.CharField()
    sentence = serializers.CharField()
    refusal = serializers.DictField(allow_null=True)
    rank = serializers.IntegerField(allow_null=True)
    ranked = serializers.IntegerField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    behind_by = serializers.ListField(child=serializers.DictField())
    rules = serializers.ListField(child=serializers.DictField(), help_text="With `force`: all that refuse it.")
    changes = ChangeOutput(many=True)


class ExplainOutput(RunOutput):
    """The run as it is, the host that was asked about, and what would place the whole request."""

    host = HostAnswerOutput(allow_null=True)
    changes = ChangeOutput(many=True)
    no_changes = NoChangeOutput(many=True)


class RoomOutput(serializers.Serializer[Any]):
    """How many more fit."""

    count = serializers.IntegerField()
    n_plus_1 = serializers.IntegerField(help_text="What is left of it if the largest host of each zone may be lost.")
    hosts = serializers.IntegerField()
    hosts_with_room = serializers.IntegerField()
    binds = serializers.CharField(allow_null=True, help_text="A resource class, or the code of a reason.")
    limits = serializers.ListField(child=serializers.DictField())
    largest_host = serializers.CharField(allow_null=True)
    is_lower_bound = serializers.BooleanField(help_text="Counting was cut off: there may be more.")


class ZoneRoomOutput(RoomOutput):
    """The room of one zone."""

    zone = serializers.CharField()


class FlavorRoomOutput(serializers.Serializer[Any]):
    """The room for one flavor."""

    flavor = serializers.DictField()
    problem = serializers.CharField(allow_blank=True)
    total = RoomOutput(allow_null=True)
    zones = ZoneRoomOutput(many=True)


class CapacityOutput(serializers.Serializer[Any]):
    """All flavors, each as if all room went to it."""

    policy_version = serializers.CharField()
    host_count = serializers.IntegerField()
    duration_us = serializers.IntegerField()
    flavors = FlavorRoomOutput(many=True)


class BatchInput(StrictInput):
    """A batch to be tried under a version of the policy: so many of one flavor, or what was asked for lately."""

    last = serializers.IntegerField(
        default=50, min_value=1, max_value=200, help_text="The requests of so many decisions."
    )
    flavor = serializers.CharField(required=False, max_length=255, help_text="Id or name: instead of recent requests.")
    image = serializers.CharField(required=False, allow_blank=True, default="", max_length=255)
    availability_zone = serializers.CharField(required=False, allow_blank=True, default="", max_length=255)
    count = serializers.IntegerField(default=10, min_value=1, max_value=500, help_text="With a flavor: how many.")


class FullestHostOutput(serializers.Serializer[Any]):
    """The host with the largest part of one class promised."""

    host = serializers.CharField()
    resource_class = serializers.CharField()
    share = serializers.FloatField()


class BusiestHostOutput(serializers.Serializer[Any]):
    """The host that got most of the batch."""

    host = serializers.CharField()
    instances = serializers.IntegerField()


class BatchRoomOutput(serializers.Serializer[Any]):
    """How many more of a flavor fit before the batch and after it; null: it could not be counted."""

    flavor = serializers.CharField()
    before = serializers.IntegerField(allow_null=True)
    after = serializers.IntegerField(allow_null=True)


class BatchOutcomeOutput(serializers.Serializer[Any]):
    """A batch under one policy."""

    policy = serializers.CharField()
    asked = serializers.IntegerField()
    placed = serializers.IntegerField()
    failed = serializers.IntegerField()
    hosts_chosen = serializers.IntegerField(help_text="Hosts that got some of it.")
    hosts_used_before = serializers.IntegerField(help_text="Hosts with any instance.")
    hosts_used = serializers.IntegerField(help_text="The same after it.")
    busiest = BusiestHostOutput(allow_null=True)
    fullest = FullestHostOutput(allow_null=True)
    room = BatchRoomOutput(many=True)
    refusals = serializers.ListField(child=serializers.CharField())


class PolicyBatchOutput(serializers.Serializer[Any]):
    """The same batch under the active policy and under this version."""

    live = BatchOutcomeOutput()
    draft = BatchOutcomeOutput()
    host_count = serializers.IntegerField()
    kinds = serializers.IntegerField()
    left_out = serializers.IntegerField()
    duration_us = serializers.IntegerField()


class PolicyBatchAnswer(serializers.Serializer[Any]):
    """The batch, and in words what it is; null where there is nothing to run."""

    batch = PolicyBatchOutput(allow_null=True)
    note = serializers.CharField()
