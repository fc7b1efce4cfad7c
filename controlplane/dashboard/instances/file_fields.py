"""The part of the create form that is about files for the guest: a path, and contents that are typed or sent."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from controlplane.infra.reader_texts import said
from controlplane.kernel.texts import Phrase
from servers.instances.domain.guest_config_rules import personality_reasons

FILE_COLUMNS = ("file_path", "file_contents", "file_encoding")
"""Names of a row's inputs, as many texts of each; the file of row N, from 0, is `file_upload_N`."""
UPLOAD = "file_upload_"
TEXT, BASE64 = "text", "base64"
FORM_MAX_BYTES = 2**20
"""Of one file. A project's quota says how many it may have; this is what a form takes and shows again."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file as it was filled in. `sent_bytes`: the size of a file that was sent and is not among `contents`, since
    it is too large, or since contents were typed, too.
    """

    path: str = ""
    contents: str = ""
    encoding: str = TEXT
    sent_bytes: int = 0

    @property
    def asked(self) -> dict[str, str]:
        """As the API takes it."""
        text = self.contents
        encoded = text if self.encoding == BASE64 else base64.b64encode(text.encode(errors="replace")).decode()
        return {"path": self.path, "contents": encoded}

    @property
    def wrong(self) -> str:
        """What is wrong with it before the service is asked, in the reader's language; empty where nothing is."""
        if self.encoding not in (TEXT, BASE64):
            return _("its contents are text or base64.")
        if self.sent_bytes and self.contents:
            return _("type its contents or choose a file, not both.")
        typed = len(self.contents) * 3 // 4 if self.encoding == BASE64 else len(self.contents.encode(errors="replace"))
        size = max(self.sent_bytes, typed)
        if size > FORM_MAX_BYTES:
            return _("has %(size)d bytes; a form takes at most %(most)d.") % {"size": size, "most": FORM_MAX_BYTES}
        return ""


class FileRows(forms.Widget):
    """Reads the rows, once: a file that was sent is not open for long. The form's template draws them."""

    needs_multipart_form = True
    _rows: list[FileRow] | None = None

    def value_from_datadict(self, data: Any, files: Any, _name: str) -> list[FileRow]:
        """See `file_rows`."""
        if self._rows is None:
            self._rows = file_rows(data, files)
        return self._rows


class FilesField(forms.Field):
    """Rows of files; cleaned to what the API takes."""

    widget = FileRows

    def clean(self, value: Sequence[FileRow]) -> list[dict[str, str]]:
        """Raises ValidationError with what is wrong with each row; what makes a path or base64, the service's rule
        says.
        """
        rows = list(value or ())
        if wrong := [(number, row.wrong) for number, row in enumerate(rows, start=1) if row.wrong]:
            text = _("File %(number)d: %(text)s")
            raise forms.ValidationError([text % {"number": number, "text": reason} for number, reason in wrong])
        asked = [row.asked for row in rows]
        if reasons := personality_reasons(asked):
            raise forms.ValidationError([said(_counted_from_one(reason)) for reason in reasons])
        return asked


def files_field() -> FilesField:
    """The field."""
    return FilesField(
        label=_("Files"),
        required=False,
        help_text=_("The guest finds them on its config drive. Kept encrypted, and forgotten once the guest runs."),
    )


def file_rows(data: Any, files: Any) -> list[FileRow]:
    """The rows in which anything is filled in. What was sent as a file stands among the contents, so that a form that
    is shown again still has it.
    """
    texts = zip_longest(*(data.getlist(name) for name in FILE_COLUMNS), fillvalue="")
    rows = (
        _row(path.strip(), contents.replace("\r\n", "\n"), encoding or TEXT, files.get(f"{UPLOAD}{number}"))
        for number, (path, contents, encoding) in enumerate(texts)
    )
    return [row for row in rows if row.path or row.contents or row.sent_bytes]


def paths_filled_in(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Of the rows their paths."""
    return [path.strip() for path in columns.get(FILE_COLUMNS[0], ()) if path.strip()]


def _row(path: str, contents: str, encoding: str, upload: Any) -> FileRow:
    if upload is None:
        return FileRow(path, contents, encoding)
    if contents or upload.size > FORM_MAX_BYTES:
        return FileRow(path, contents, encoding, upload.size)
    upload.seek(0)
    data = upload.read(FORM_MAX_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text and all(char.isprintable() or char in "\n\t" for char in text):
        return FileRow(path, text, TEXT)
    return FileRow(path, base64.b64encode(data).decode(), BASE64)


def _counted_from_one(reason: str) -> str:
    """The service counts files as lists do, from 0, and people from 1."""
    if isinstance(reason, Phrase) and isinstance(number := reason.values.get("number"), int):
        return Phrase(reason.template, **{**reason.values, "number": number + 1})
    return reason
