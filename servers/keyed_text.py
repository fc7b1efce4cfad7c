"""Objects of text to text, such as extra specs and image properties: what is wrong with them, key by key."""

import re
from collections.abc import Callable, Mapping

from controlplane.kernel.texts import phrase as _
from servers.fields import Problems, text_reasons

KEY = re.compile(r"[a-zA-Z0-9\-_:. ]{1,255}")
"""The characters of Nova's metadata keys."""
WHOLE = ""
"""The key under which reasons against the object as a whole stand."""


def keyed_problems(pairs: object, complaint: Callable[[str, str], str], *, max_chars: int) -> Problems:
    """{key: sentences that name it}; `complaint` judges a pair whose key and value are well-formed text."""
    if not isinstance(pairs, Mapping):
        return {WHOLE: [_("Must be an object of text values.")]}
    found = {str(key)[:255]: _pair_reasons(key, value, complaint, max_chars) for key, value in pairs.items()}
    return {key: reasons for key, reasons in found.items() if reasons}


def texts_of(pairs: object) -> dict[str, str]:
    """The pairs that are text, of whatever was sent."""
    if not isinstance(pairs, Mapping):
        return {}
    return {key: value for key, value in pairs.items() if isinstance(key, str) and isinstance(value, str)}


def under_field(field: str, problems: Problems) -> Problems:
    """Reasons by dotted field, as forms and the API name them: `extra_specs.hw:cpu_policy`."""
    return {f"{field}.{key}" if key else field: reasons for key, reasons in problems.items()}


def _pair_reasons(key: object, value: object, complaint: Callable[[str, str], str], max_chars: int) -> list[str]:
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return [_("Key {key!r:.80}: 1 to 255 letters, digits, spaces or any of - _ : . are allowed.", key=key)]
    bad_text = text_reasons(value, maximum=max_chars)
    if bad_text or not isinstance(value, str):
        return [f"{key}: {reason}" for reason in bad_text]
    sentence = complaint(key, value)
    return [sentence] if sentence else []
