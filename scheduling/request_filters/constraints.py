"""What flavor and image say of one thing: `hw:<name>` of the one, `hw_<name>` of the other, and they may not differ."""

from collections.abc import Sequence

from controlplane.kernel.booleans import is_true
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.schedule_request import ScheduleRequest


def hw_text(request: ScheduleRequest, name: str) -> str | None:
    """The value, None if neither says. Raises Invalid where they differ."""
    by_flavor, by_image = _said(request, name)
    if by_flavor and by_image and by_flavor != by_image:
        raise _conflict(name, by_flavor, by_image)
    return by_flavor or by_image or None


def hw_choice(request: ScheduleRequest, name: str, allowed: Sequence[str]) -> str | None:
    """As `hw_text`, one of `allowed`. Raises Invalid for others."""
    value = hw_text(request, name)
    if value is not None and value not in allowed:
        raise Invalid(
            _("hw:{name} is one of {allowed}, not {value}", name=name, allowed=", ".join(allowed), value=value),
            field="flavor",
        )
    return value


def hw_flag(request: ScheduleRequest, name: str) -> bool:
    """Whether either wants it; other words than yes mean no. Raises Invalid where one wants it and one forbids it."""
    by_flavor, by_image = _said(request, name)
    flags = [is_true(text) for text in (by_flavor, by_image) if text is not None]
    if len(set(flags)) > 1:
        raise _conflict(name, by_flavor, by_image)
    return any(flags)


def _said(request: ScheduleRequest, name: str) -> tuple[str | None, str | None]:
    by_flavor, by_image = request.flavor.extra_specs.get(f"hw:{name}"), request.image.properties.get(f"hw_{name}")
    return None if by_flavor is None else str(by_flavor), None if by_image is None else str(by_image)


def _conflict(name: str, by_flavor: str | None, by_image: str | None) -> Invalid:
    return Invalid(
        _(
            "the flavor says hw:{name}={by_flavor}, the image hw_{name}={by_image}",
            name=name,
            by_flavor=by_flavor,
            by_image=by_image,
        ),
        field="flavor",
    )
