"""A CPU list is read as what was written, within its bounds, and refused in the same words wherever it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.cpu_list import MAX_CPU, format_cpus, is_cpu_list, parse_cpus, parse_mask
from controlplane.kernel.errors import Invalid
from servers.catalog.domain.allowed import cpu_list

CPUS = st.integers(0, MAX_CPU)
SETS = st.frozensets(st.integers(0, 300) | CPUS, max_size=40)
PARTS = st.sampled_from(
    ["0", "7", "0-3", "^2", "^1-2", " 5 ", "", "65535", "65536", "3-1", "-", "^", "a", "1-", "٣", "+1"]
)


@given(SETS)
def test_what_is_written_is_read_back(cpus: frozenset[int]) -> None:
    assert parse_cpus(format_cpus(cpus)) == cpus
    assert is_cpu_list(format_cpus(cpus)) is bool(cpus)


@given(SETS, SETS)
def test_exclusions_are_taken_away_wherever_they_stand(wanted: frozenset[int], excluded: frozenset[int]) -> None:
    texts = [str(cpu) for cpu in sorted(wanted)] + [f"^{cpu}" for cpu in sorted(excluded)]
    assert parse_cpus(",".join(texts)) == parse_cpus(",".join(reversed(texts))) == wanted - excluded


@given(st.integers(1, 200), st.frozensets(st.integers(0, 199), min_size=1))
def test_mask_of_exclusions_is_all_but_those(count: int, excluded: frozenset[int]) -> None:
    mask = ",".join(f"^{cpu}" for cpu in sorted(excluded))
    assert parse_mask(mask, count, "hw:cpu_realtime_mask") == frozenset(range(count)) - excluded


@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_a_range_is_read_only_within_the_bounds(first: int, last: int) -> None:
    text = f"{first}-{last}"
    if first <= last <= MAX_CPU:
        assert parse_cpus(text) == frozenset(range(first, last + 1))
    else:
        with pytest.raises(Invalid, match="no CPU number or range"):
            parse_cpus(text)


@given(st.lists(PARTS, max_size=4).map(",".join) | st.text(max_size=12))
def test_all_readers_take_and_refuse_the_same(text: str) -> None:
    """The API is stricter in one thing only: it takes no blanks and no empty parts."""
    complaint = _complaint(text)
    assert _complaint(text, "hw:numa_cpus.0") == (complaint and f"hw:numa_cpus.0: {complaint}")
    written_strictly = all(text.split(",")) and not any(each.isspace() for each in text)
    assert cpu_list().fits(text) is (written_strictly and not complaint)


def _complaint(text: str, field: str | None = None) -> str:
    try:
        parse_cpus(text, field)
    except Invalid as error:
        return error.message
    return ""
