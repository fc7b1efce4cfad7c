"""What a guest has used, on the wire."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from servers.instances.domain.guest_samples import COUNTERS
from servers.instances.selectors.guest_counters import CountersOfGuest


class CountersSampleOutput(serializers.Serializer[Any]):
    """One sample: what was used by then since the guest was started (bytes, requests, packets, nanoseconds of CPU), and
    the memory of then in KiB.
    """

    at = serializers.DateTimeField()
    cpu_ns = serializers.IntegerField()
    memory_actual_kib = serializers.IntegerField(help_text="What the balloon leaves the guest.")
    memory_rss_kib = serializers.IntegerField(help_text="What it takes of its host.")
    memory_unused_kib = serializers.IntegerField(help_text="What it says that it does not use; 0: it does not say.")
    disk_read_bytes = serializers.IntegerField()
    disk_read_requests = serializers.IntegerField()
    disk_write_bytes = serializers.IntegerField()
    disk_write_requests = serializers.IntegerField()
    rx_bytes = serializers.IntegerField()
    rx_packets = serializers.IntegerField()
    rx_errors = serializers.IntegerField()
    rx_drops = serializers.IntegerField()
    tx_bytes = serializers.IntegerField()
    tx_packets = serializers.IntegerField()
    tx_errors = serializers.IntegerField()
    tx_drops = serializers.IntegerField()


class CountersRatesOutput(serializers.Serializer[Any]):
    """Use on average since the sample before: CPU in percent of all vCPUs, disk and network in bytes a second."""

    at = serializers.DateTimeField()
    cpu_percent = serializers.FloatField()
    memory_used_kib = serializers.IntegerField()
    disk_read_rate = serializers.FloatField()
    disk_write_rate = serializers.FloatField()
    rx_rate = serializers.FloatField()
    tx_rate = serializers.FloatField()


class CountersOutput(serializers.Serializer[Any]):
    """The samples of an hour or a day, oldest first, at most one each `step_s` seconds."""

    span = serializers.CharField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    step_s = serializers.IntegerField()
    samples = CountersSampleOutput(many=True)
    rates = CountersRatesOutput(many=True)


def counters_document(found: CountersOfGuest) -> dict[str, Any]:
    """As `CountersOutput` describes it."""
    return {
        "span": found.span.value,
        "since": _time(found.since_s),
        "until": _time(found.until_s),
        "step_s": found.step_s,
        "samples": [
            {"at": _time(one.at_s), **{name: getattr(one.counters, name) for name in COUNTERS}} for one in found.samples
        ],
        "rates": [{"at": _time(one.at_s), **_rest(asdict(one))} for one in found.rates],
    }


def _rest(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "at_s"}


def _time(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
