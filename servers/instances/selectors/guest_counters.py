"""What a guest has used, out of rows: no page asks a hypervisor."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.infra.db import db_now
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from servers.instances.domain.guest_samples import COARSE, FINE, GuestRates, GuestSample, chunk_unpack, rates_between
from servers.models import GuestCounterChunk, Instance

HOUR_S, DAY_S = 3600, 86400


class CountersSpan(StrEnum):
    """How far back: an hour by the minute, or a day by five minutes."""

    HOUR = "hour"
    DAY = "day"

    @property
    def seconds(self) -> int:
        """How long it is."""
        return HOUR_S if self is CountersSpan.HOUR else DAY_S


@dataclass(frozen=True, slots=True)
class CountersOfGuest:
    """The samples from `since_s` to `until_s` (Unix seconds), at most one each `step_s`, and the rates between them."""

    span: CountersSpan
    since_s: int
    until_s: int
    step_s: int
    samples: tuple[GuestSample, ...]
    rates: tuple[GuestRates, ...]


def span_of(text: str) -> CountersSpan:
    """Raises Invalid."""
    try:
        return CountersSpan(text)
    except ValueError as error:
        raise Invalid(_("span is hour or day."), field="span") from error


def guest_counters(instance: Instance, span: CountersSpan) -> CountersOfGuest:
    """Two queries, and at most 20 rows."""
    resolution = FINE if span is CountersSpan.HOUR else COARSE
    until_s = int(db_now().timestamp())
    since_s = until_s - span.seconds
    rows = GuestCounterChunk.objects.filter(
        instance_uuid=instance.pk, step_s=resolution.step_s, starts_s__gt=since_s - resolution.chunk_s
    ).order_by("starts_s")
    found = [one for row in rows for one in chunk_unpack(bytes(row.samples), chunk_start_s=row.starts_s)]
    samples = tuple(one for one in found if one.at_s >= since_s)
    rates = tuple(rates_between(samples, vcpus=instance.vcpus))
    return CountersOfGuest(span, since_s, until_s, resolution.step_s, samples, rates)
