"""Which texts a name may be made of."""

import unicodedata


def is_printable(text: str) -> bool:
    """Whether each character can be printed, spaces of every kind among them, as in Nova."""
    return text.isprintable() or all(char.isprintable() or unicodedata.category(char) == "Zs" for char in text)
