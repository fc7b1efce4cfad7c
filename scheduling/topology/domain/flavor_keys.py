"""What flavor and image say about CPUs and memory, side by side. Source of the keys: Nova's `hw:*` and `hw_*`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from controlplane.kernel.booleans import is_true
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class HwRequest:
    """A flavor and an image. Values are text without surrounding blanks; '' means not given."""

    flavor: FlavorSnapshot
    image: ImageSnapshot

    def of_flavor(self, key: str) -> str:
        """The extra spec `hw:<key>`."""
        return _text(self.flavor.extra_specs.get(f"hw:{key}"))

    def of_image(self, key: str) -> str:
        """The image property `hw_<key>`."""
        return _text(self.image.properties.get(f"hw_{key}"))

    def choices(self, key: str, kind: type[Choice]) -> tuple[Choice | None, Choice | None]:
        """Flavor's and image's value of a key with a fixed list. Raises Invalid for a value that is not on it."""
        return (
            parse_choice(self.of_flavor(key), kind, f"hw:{key}"),
            parse_choice(self.of_image(key), kind, f"hw_{key}"),
        )

    def numbered(self, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Flavor's and image's values of `<key>.0`, `<key>.1` and so on up to the first gap."""
        return tuple(_until_gap(self.of_flavor, key)), tuple(_until_gap(self.of_image, key))

    @property
    def vcpus(self) -> frozenset[int]:
        """All vCPUs of the flavor, from 0."""
        return frozenset(range(self.flavor.vcpus))


def parse_choice(text: str, kind: type[Choice], field: str) -> Choice | None:
    """The member of `kind` that `text` names, None for ''. Raises Invalid, naming the key."""
    if not text:
        return None
    try:
        return kind(text)
    except ValueError as error:
        raise Invalid(
            _("{field}: {text!r} is none of {kind}", field=field, text=text, kind=", ".join(kind)), field=field
        ) from error


def parse_flag(text: str) -> bool | None:
    """Text as true or false, None for ''. Words Nova does not know are false, as there."""
    return is_true(text) if text else None


def parse_whole_number(text: str, field: str, minimum: int = 1) -> int:
    """Text as a whole number of at least `minimum`. Raises Invalid, naming the key."""
    try:
        number = int(text)
    except ValueError as error:
        raise Invalid(_("{field}: {text!r} is no whole number", field=field, text=text), field=field) from error
    if number < minimum:
        raise Invalid(
            _("{field}: {number} is less than {minimum}", field=field, number=number, minimum=minimum), field=field
        )
    return number


def _until_gap(read: Callable[[str], str], key: str) -> Iterable[str]:
    at = 0
    while text := read(f"{key}.{at}"):
        yield text
        at += 1


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()
