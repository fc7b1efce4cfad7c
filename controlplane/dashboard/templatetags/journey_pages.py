"""Small pieces of a journey: labels of its axis."""

from django import template

register = template.Library()
UNITS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001))


@register.filter
def tick_label(seconds: float) -> str:
    """'0', '50 ms', '0.5 s', '30 s', '5 min', '6 h': short, as it stands under an axis."""
    for unit, size in UNITS:
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return "0" if seconds <= 0 else f"{seconds * 1000:g} ms"
