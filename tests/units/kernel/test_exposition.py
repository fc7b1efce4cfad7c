"""Prometheus' text format, letter by letter."""

import math

import pytest

from controlplane.kernel.exposition import Family, MetricType, Sample, exposition, gauge


def test_family_is_described_before_its_samples() -> None:
    text = exposition([gauge("jobs_open", "Open jobs.", [Sample(2, {"kind": "build"}), Sample(0.5, {"kind": "stop"})])])
    assert text == (
        '# HELP jobs_open Open jobs.\n# TYPE jobs_open gauge\njobs_open{kind="build"} 2\njobs_open{kind="stop"} 0.5\n'
    )


def test_summary_has_quantiles_sum_and_count() -> None:
    samples = (Sample(1.5, {"quantile": "0.5"}), Sample(3.0, {}, "_sum"), Sample(2, {}, "_count"))
    text = exposition([Family("took_seconds", MetricType.SUMMARY, "Time.", samples)])
    assert text.splitlines()[1:] == [
        "# TYPE took_seconds summary",
        'took_seconds{quantile="0.5"} 1.5',
        "took_seconds_sum 3",
        "took_seconds_count 2",
    ]


def test_hostile_label_value_stays_in_its_quotes() -> None:
    text = exposition([gauge("m", "h", [Sample(1, {"step": 'a"} 9\nm{x="\\'})])])
    assert text.splitlines()[2:] == ['m{step="a\\"} 9\\nm{x=\\"\\\\"} 1']


def test_newline_in_a_description_is_escaped() -> None:
    assert exposition([gauge("m", "a\nb", [])]).splitlines()[0] == "# HELP m a\\nb"


@pytest.mark.parametrize(("value", "shown"), [(math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN")])
def test_value_that_is_no_number_has_its_word(value: float, shown: str) -> None:
    assert exposition([gauge("m", "h", [Sample(value)])]).splitlines()[-1] == f"m {shown}"


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "a\n"])
def test_name_that_the_format_forbids_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        exposition([gauge(name, "h", [])])


def test_same_family_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        exposition([gauge("m", "h", []), gauge("m", "h", [])])


def test_same_labels_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="same labels"):
        exposition([gauge("m", "h", [Sample(1), Sample(2)])])


def test_nothing_is_an_empty_page() -> None:
    assert exposition([]) == ""
