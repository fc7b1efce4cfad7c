"""Names of hosts folded to runs, whatever the names are."""

from hypothesis import given
from hypothesis import strategies as st

from scheduling.domain.trace.names import names_from_runs, names_to_runs, places_in_runs

NUMBERED = st.builds(
    "{}{}{}".format, st.sampled_from(["", "h", "H-", "10.0."]), st.integers(0, 120), st.sampled_from(["", ".lan"])
)
NAMES = st.lists(NUMBERED | st.text(max_size=6), max_size=30)


@given(NAMES, NUMBERED | st.text(max_size=6))
def test_folded_names_are_found_where_the_names_stand(names: list[str], other: str) -> None:
    runs = names_to_runs(names)
    assert names_from_runs(runs) == tuple(names)
    for wanted in (*names, other):
        expected = tuple(at for at, name in enumerate(names) if name.lower() == wanted.lower())
        assert places_in_runs(runs, wanted) == expected
