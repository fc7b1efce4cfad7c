"""What may come with an action, whichever door it comes through."""

import re

from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons, text_reasons, whole_number_reasons
from servers.instances.actions.rule import Argument, ArgumentKind

_WHOLE = re.compile(r"-?[0-9]+")


def argument_reasons(argument: Argument, value: str) -> Reasons:
    """The reasons against a value; empty text stands for none. Whether an image exists is its action's business."""
    if reasons := text_reasons(value, maximum=argument.max_length):
        return reasons
    if not value:
        return [_("Is needed.")] if argument.is_required else []
    if argument.kind is ArgumentKind.PASSWORD and not value.isprintable():
        return [_("Has characters that cannot be printed.")]
    if argument.kind is ArgumentKind.CHOICE and value not in argument.choices:
        return [_("Is {value!r:.40}; there are: {choices}.", value=value, choices=", ".join(argument.choices))]
    if argument.kind is not ArgumentKind.NUMBER:
        return []
    number: object = int(value) if _WHOLE.fullmatch(value) else value
    return whole_number_reasons(number, minimum=argument.min_value, maximum=argument.max_value)
