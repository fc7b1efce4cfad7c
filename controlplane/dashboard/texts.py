"""Texts that are kept in English and shown in the reader's language."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from controlplane.infra.reader_texts import said
from controlplane.kernel.texts import Phrase
from scheduling.domain.trace.verdict_text import verdict_text

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    Shown = StrOrPromise
else:
    Shown = str
"""A text that is written in English, or one that is translated once it is shown."""


def fault_text(message: object) -> str:
    """Why something failed, which was stored in English: a verdict of the scheduler or a service's reason, in the
    reader's language.
    """
    plain = str(message or "")
    read = verdict_text(plain, gettext)
    return said(plain) if read == plain else read


def translated(text: object) -> str:
    """A text that was marked with `gettext_noop`, or made as a phrase, in the reader's language; any other text as it
    is. None is empty.
    """
    if isinstance(text, Phrase):
        return text.sentence(gettext)
    return gettext(str(text)) if text else ""
