"""Sentences of templates, and back."""

from controlplane.kernel.texts import Phrase, reread, values_read


def test_a_text_is_read_back_by_its_template() -> None:
    for template, values in {
        "Host {host} has {count} guests.": {"host": "h1 of rack 7", "count": "12"},
        "{name} of {place} of {world}": {"name": "a", "place": "b", "world": "c of d"},
        "Guest {guest}{name}, {state}.": {"guest": "g", "name": " (web)", "state": "running"},
        "{key} is not {key} as {who} says": {"key": "x is not y", "who": "z"},
        "It stays{why}.": {"why": ""},
    }.items():
        text = str(Phrase(template, **values))
        assert values_read(text, template) == values, template
        assert reread(text, ["It is.", template]) == text


def test_a_text_that_nearly_fits_in_countless_ways_is_told_apart_at_once() -> None:
    """Whoever writes a reason must not hold up who reads it: there are 10^12 ways to divide this one."""
    template = "{a} of {b} of {c} of {d} of {e} of {f} of {g} of {h}, says {who}."
    text = " of ".join("x" * 200)
    assert values_read(text, template) is None
    assert values_read(f"{text}, says y.", template) == {
        **dict.fromkeys("abcdefg", "x"), "h": " of ".join("x" * 193), "who": "y"
    }  # fmt: skip
