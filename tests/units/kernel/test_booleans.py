import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.booleans import is_boolean, is_true


@pytest.mark.parametrize("text", ["1", "t", "true", "on", "y", "yes", "YES", " True "])
def test_words_for_yes(text: str) -> None:
    assert is_true(text)
    assert is_boolean(text)


@pytest.mark.parametrize("text", ["0", "f", "false", "off", "n", "no", "No", " OFF "])
def test_words_for_no(text: str) -> None:
    assert not is_true(text)
    assert is_boolean(text)


@pytest.mark.parametrize("text", ["", "2", "ja", "yes please", "None"])
def test_other_words_are_no_truth_value_and_mean_no(text: str) -> None:
    assert not is_true(text)
    assert not is_boolean(text)


@given(st.none() | st.booleans() | st.integers())
def test_values_that_are_no_text_are_read_as_their_text(value: object) -> None:
    assert is_true(value) is (value is True or value == 1)
