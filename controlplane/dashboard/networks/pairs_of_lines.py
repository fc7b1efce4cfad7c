"""Fields of forms with a pair in each line: pools of addresses, and routes."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.networks import HostRoute

MAX_CHARS = 8000
Pair = tuple[str, str]


def pairs_of_text(text: str) -> tuple[Pair, ...]:
    """Pairs in the order of the lines. Raises ValidationError for a line that is no pair."""
    pairs: list[Pair] = []
    for line in text.splitlines():
        words = line.replace("-", " ").split()
        if len(words) == 2:
            pairs.append((words[0], words[1]))
        elif words:
            raise forms.ValidationError(
                gettext("“%(line)s” is not two words with a space between.") % {"line": line.strip()[:80]}
            )
    return tuple(pairs)


class PairsOfLines(forms.CharField):
    """Lines of two words each; a hyphen between them, alone or not, counts as a space. What the words are, the service
    judges.
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(required=False, max_length=MAX_CHARS, widget=forms.Textarea(attrs={"rows": 2}), **more)

    def to_python(self, value: Any) -> Any:
        """See `pairs_of_text`."""
        return pairs_of_text(super().to_python(value) or "")

    def prepare_value(self, value: Any) -> Any:
        """Pairs as lines; what was typed as it is."""
        return value if isinstance(value, str) or value is None else "\n".join(" ".join(pair) for pair in value)


def pools_field() -> PairsOfLines:
    """Ranges of a subnet out of which addresses are given."""
    return PairsOfLines(
        label=_("Pools"),
        help_text=_(
            "Addresses are given out of these: first and last of each, a line each. Empty: all but the gateway's."
        ),
    )


def routes_field(help_text: Any) -> PairsOfLines:
    """Routes: where to, and over which address."""
    return PairsOfLines(label=_("Routes"), help_text=help_text)


def pairs_of_routes(routes: Iterable[dict[str, str]]) -> tuple[Pair, ...]:
    """Of rows, for a field's first value."""
    return tuple((route["destination"], route["nexthop"]) for route in routes)


def routes_of_pairs(pairs: Sequence[Pair]) -> tuple[HostRoute, ...]:
    """As services take them."""
    return tuple(HostRoute(destination, nexthop) for destination, nexthop in pairs)
