"""Page size and locked memory of a guest. Source: Nova's rules of `mem_page_size` and `locked_memory`."""

import re

from computeagent.protocol.topology import ANY_PAGES, LARGE_PAGES, PAGE_WORDS
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.flavor_keys import HwRequest, parse_flag

PAGE_SIZE, LOCKED, ENCRYPTION = "hw:mem_page_size", "hw:locked_memory", "hw:mem_encryption"

_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([KMGTkmgt])?i?(b|B|bit)?$")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
# The models whose memory the hypervisor may not move; the default model is the first.
_LOCKING_MODELS = ("amd-sev", "amd-sev-es")


_LARGEST_KIB = 2**40  # a pebibyte: no hardware has such pages, and arithmetic is exact below


def page_size(hw_request: HwRequest) -> int | None:
    """The page size in KiB or as a symbol; None for no constraint.

    An image may choose one only where the flavor says any or large. Raises Invalid naming the key.
    """
    flavor, image = hw_request.of_flavor("mem_page_size"), hw_request.of_image("mem_page_size")
    if not flavor and not image:
        return None
    if not flavor:
        raise Invalid(
            _(
                "hw_mem_page_size={image} of the image needs {page_size} in the flavor",
                image=image,
                page_size=PAGE_SIZE,
            ),
            field=PAGE_SIZE,
        )
    size = parse_page_size(flavor, PAGE_SIZE)
    if not image:
        return size
    if size not in (ANY_PAGES, LARGE_PAGES):
        raise Invalid(
            _(
                "hw_mem_page_size={image} of the image contradicts {page_size}={flavor}",
                image=image,
                page_size=PAGE_SIZE,
                flavor=flavor,
            ),
            field=PAGE_SIZE,
        )
    return parse_page_size(image, "hw_mem_page_size")


def parse_page_size(text: str, field: str = PAGE_SIZE) -> int:
    """'small', 'large' and 'any' as symbols; a plain number is KiB; '2MB', '1GiB' in KiB. Raises Invalid."""
    if text in PAGE_WORDS:
        return PAGE_WORDS[text]
    match = _SIZE.match(text)
    size = 0.0 if match is None else _kib(text, match)
    if not 1 <= size <= _LARGEST_KIB or size != int(size):
        raise Invalid(
            _(
                "{field}: {text!r} is no page size (small, large, any, or a size such as 2MB)",
                field=field,
                text=text[:80],
            ),
            field=field,
        )
    return int(size)


def locked_memory(hw_request: HwRequest) -> bool:
    """Whether the guest's memory may not be swapped: asked for, or implied by memory encryption.

    Needs a page size; flavor and image must agree. Raises Invalid naming the key.
    """
    flavor, image = parse_flag(hw_request.of_flavor("locked_memory")), parse_flag(hw_request.of_image("locked_memory"))
    if flavor is not None and image is not None and flavor != image:
        raise Invalid(
            _(
                "hw_locked_memory={image} of the image contradicts {locked}={flavor}",
                image=image,
                locked=LOCKED,
                flavor=flavor,
            ),
            field=LOCKED,
        )
    if flavor or image:
        if not (hw_request.of_flavor("mem_page_size") or hw_request.of_image("mem_page_size")):
            raise Invalid(_("{locked} needs {page_size}", locked=LOCKED, page_size=PAGE_SIZE), field=LOCKED)
        return True
    return _is_locked_by_encryption(hw_request)


def _kib(text: str, match: re.Match[str]) -> float:
    if text.isdigit():
        return float(text)
    size: float = float(match[1]) * 1024 ** _POWERS[(match[2] or "").upper()] / 1024
    return size / 8 if match[3] in ("b", "bit") else size


def _is_locked_by_encryption(hw_request: HwRequest) -> bool:
    wanted = parse_flag(hw_request.of_flavor("mem_encryption")) or parse_flag(hw_request.of_image("mem_encryption"))
    model = (
        hw_request.of_flavor("mem_encryption_model")
        or hw_request.of_image("mem_encryption_model")
        or _LOCKING_MODELS[0]
    )
    return bool(wanted) and model in _LOCKING_MODELS
