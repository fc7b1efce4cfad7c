"""Truth values as text. Extra specs, image properties and settings all read the same words, which are Nova's."""

TRUE_WORDS = frozenset({"1", "t", "true", "on", "y", "yes"})
FALSE_WORDS = frozenset({"0", "f", "false", "off", "n", "no"})


def is_true(text: object) -> bool:
    """Whether it means yes, in any case of letters and between blanks. What is no truth value means no, as in Nova."""
    return str(text).strip().lower() in TRUE_WORDS


def is_boolean(text: str) -> bool:
    """Whether it means either yes or no."""
    return text.strip().lower() in TRUE_WORDS | FALSE_WORDS
