"""What a log record looks like, to people and to programs, whatever its message holds."""

import json
import logging
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from controlplane.infra.request_id import request_id_scope
from controlplane.kernel.log_context import log_scope
from controlplane.kernel.log_lines import ContextFilter, JsonLines, PlainLines

FORMAT = "%(levelname)s %(name)s [%(request_id)s] %(message)s"
HOSTILE = "vm\nERROR root [req-1] all is lost\r\x1b[2J\u2028x"


def record(message: str = "hello", *args: object, **extra: Any) -> logging.LogRecord:
    made = logging.getLogger("some.module").makeRecord(
        "some.module", logging.WARNING, __file__, 1, message, args, extra.pop("exc_info", None), extra=extra
    )
    ContextFilter().filter(made)
    return made


def as_json(made: logging.LogRecord) -> dict[str, Any]:
    text = JsonLines().format(made)
    assert len(text.splitlines()) == 1
    assert text.isascii()
    return json.loads(text)


def failure(message: str) -> Any:
    try:
        raise RuntimeError(message)
    except RuntimeError:
        return sys.exc_info()


def test_json_line_names_time_level_logger_and_message() -> None:
    found = as_json(record("%s of %d", "one", 2))
    assert found.pop("time").endswith("+00:00")
    assert found == {"level": "WARNING", "logger": "some.module", "message": "one of 2"}


def test_json_line_tells_request_work_and_instance_where_known() -> None:
    with request_id_scope("req-7"), log_scope(work_id="w-1", subject="s-1", instance="i-1"):
        found = as_json(record())
    reported = [found[name] for name in ("request_id", "work_id", "subject", "instance")]
    assert reported == ["req-7", "w-1", "s-1", "i-1"]


def test_scope_that_ended_is_not_told() -> None:
    with log_scope(work_id="w-1"):
        pass
    assert "work_id" not in as_json(record())


def test_inner_scope_hides_the_outer_one() -> None:
    with log_scope(work_id="outer", instance="i-1"), log_scope(work_id="inner"):
        found = as_json(record())
    assert (found["work_id"], "instance" in found) == ("inner", False)


def test_scope_of_one_thread_is_not_told_by_another() -> None:
    seen: list[dict[str, Any]] = []
    with log_scope(work_id="mine"):
        thread = threading.Thread(target=lambda: seen.append(as_json(record())))
        thread.start()
        thread.join()
    assert "work_id" not in seen[0]


def test_record_that_brings_its_own_instance_keeps_it() -> None:
    with log_scope(work_id="w-1", instance="i-1"):
        assert as_json(record(instance="i-2"))["instance"] == "i-2"


def test_hostile_message_is_one_json_line_and_read_back_as_it_was() -> None:
    assert as_json(record("name %s", HOSTILE))["message"] == f"name {HOSTILE}"


def test_exception_is_part_of_the_json_line() -> None:
    found = as_json(record(exc_info=failure(HOSTILE)))
    assert found["exception"].startswith("Traceback")
    assert "RuntimeError: vm" in found["exception"]


def test_message_whose_arguments_do_not_fit_is_still_logged() -> None:
    assert as_json(record("%d", "many"))["message"] == "%d ('many',)"


def test_hostile_message_is_one_plain_line() -> None:
    text = PlainLines(FORMAT).format(record("name %s", HOSTILE))
    assert text == ("WARNING some.module [-] name vm\\nERROR root [req-1] all is lost\\r\\x1b[2J\\u2028x")


def test_lines_of_a_traceback_never_begin_like_a_record() -> None:
    text = PlainLines(FORMAT).format(record(exc_info=failure(HOSTILE)))
    first, *rest = text.splitlines()
    assert first == "WARNING some.module [-] hello"
    assert rest
    assert all(line.startswith("    ") for line in rest)


@pytest.mark.parametrize("letter", ["é", "漢", "\t"])
def test_letters_and_tabs_stay_as_they_are_on_a_plain_line(letter: str) -> None:
    assert PlainLines("%(message)s").format(record(f"a{letter}b")) == f"a{letter}b"


def process(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter: settings are read once."""
    around = {**os.environ, "DJANGO_SETTINGS_MODULE": "controlplane.settings.test", **env}
    return subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True, check=False)


def test_log_format_json_makes_every_line_of_a_process_an_object() -> None:
    code = "import logging.config; from controlplane.settings import base; logging.config.dictConfig(base.LOGGING)"
    done = process(f"{code}; logging.getLogger('x').warning('a\\nb')", LOG_FORMAT="json")
    assert [json.loads(line)["message"] for line in done.stderr.splitlines()] == ["a\nb"]


@pytest.mark.parametrize(
    ("name", "value"), [("METRICS_TOKEN", "short"), ("METRICS_ALLOW", "everybody"), ("LOG_FORMAT", "xml")]
)
def test_setting_that_makes_no_sense_stops_the_process_by_name(name: str, value: str) -> None:
    done = process("import controlplane.settings.base", **{name: value})
    assert done.returncode == 1
    assert f"ImproperlyConfigured: {name}" in done.stderr
    assert value != "short" or value not in done.stderr
