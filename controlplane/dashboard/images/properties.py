"""The editor of image properties: one row a key, with what the key means and what it may be set to."""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _

from controlplane.dashboard.catalog.extra_specs import BLANK_ROWS, SpecRow, must_be
from controlplane.kernel.texts import gettext_noop
from servers.fields import Problems
from servers.images.domain.image_properties.table import PROPERTY_RULES, property_complaint, property_rule
from servers.instances.domain.not_provided import image_refusals

OWN_PROPERTY = gettext_noop("This property is not in the table: it is kept as it is, and has no effect here.")
FIELD = "properties"


def property_row(key: str, value: str, wrong: Sequence[str] = ()) -> SpecRow:
    """The row of a property. What the table says against it is added to `wrong`, once."""
    if not key:
        return SpecRow(key, value, wrong=tuple(wrong))
    rule, complaint = property_rule(key), property_complaint(key, value) if value else ""
    reasons = tuple(dict.fromkeys([*wrong, *([complaint] if complaint else [])]))
    if rule is not None:
        refused = "".join(image_refusals({key: value})) if value else ""
        return SpecRow(key, value, _(rule.meaning), must_be(rule), reasons, rule.allowed.choices, refused)
    return SpecRow(key, value, "" if complaint else _(OWN_PROPERTY), "", reasons)


def property_rows(pairs: Iterable[tuple[str, str]], problems: Problems) -> list[SpecRow]:
    """Rows of these properties, each with its own problems, and blank ones to add more."""
    rows = [property_row(key, value, problems.get(f"{FIELD}.{key}", [])) for key, value in pairs]
    return rows + [SpecRow()] * BLANK_ROWS


PROPERTIES_OFFERED = [rule for rule in PROPERTY_RULES if not rule.is_family]
"""Those that can be typed as they are; those of families have parts to be filled in."""
