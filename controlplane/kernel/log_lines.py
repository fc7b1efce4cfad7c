"""How a log record becomes text: one line for people, or one JSON object for programs (LOG_FORMAT).

Whatever a user typed may be part of a message. Control characters are escaped in both forms, so that nobody can begin
a line that looks like another record.
"""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from controlplane.kernel.log_context import current_log_context
from controlplane.kernel.request_scope import current_request_id

# C0 and C1 controls, and what some viewers take for the end of a line. Tabs stay.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
NO_REQUEST = "-"
CONTEXT = ("request_id", "work_id", "subject", "instance")


class ContextFilter(logging.Filter):
    """Adds what CONTEXT names to each record that does not bring its own."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always keeps the record."""
        context = current_log_context()
        known = (current_request_id(), context.work_id, context.subject, context.instance)
        for name, value in zip(CONTEXT, known, strict=True):
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


class PlainLines(logging.Formatter):
    """One line a record; a traceback follows it, indented, so that none of its lines can pass for a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # the name is logging's
        """The line, with control characters written as \\xNN or \\n."""
        return escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the name is logging's
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802  # the name is logging's
        return _indented(super().formatStack(stack_info))


class JsonLines(logging.Formatter):
    """One JSON object a record, all of ASCII, on one line: time (UTC, ISO 8601), level, logger, message, and where
    there are any request_id, work_id, subject, instance, exception and stack.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The object; keys without a value are left out."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
            **{name: _known(record, name) for name in CONTEXT},
            "exception": self.formatException(record.exc_info) if record.exc_info else "",
            "stack": record.stack_info or "",
        }
        needed = {"time", "level", "logger", "message"}
        return json.dumps({name: value for name, value in fields.items() if value or name in needed})


def escaped(text: str) -> str:
    """`text` on one line: each control character as Python would write it."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _message(record: logging.LogRecord) -> str:
    """A record whose arguments do not fit its text is still logged: it may be the one that matters."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return f"{record.msg} {record.args!r}"


def _known(record: logging.LogRecord, name: str) -> str:
    value = str(getattr(record, name, ""))
    return "" if value == NO_REQUEST else value


def _indented(text: str) -> str:
    """Ends of lines are those that str.splitlines knows; other control characters are escaped."""
    return "\n".join(f"    {escaped(line)}" for line in text.splitlines())
