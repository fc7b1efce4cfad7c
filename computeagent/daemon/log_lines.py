"""What an agent writes to its log: records on standard error, as the control plane writes them."""

import logging
import os
from collections.abc import Callable

from controlplane.kernel.log_lines import ContextFilter, JsonLines, PlainLines

LINE = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"
_FORMATS: dict[str, Callable[[], logging.Formatter]] = {"line": lambda: PlainLines(LINE), "json": JsonLines}


def log_to_stderr() -> None:
    """From now on, down to the level that LOG_LEVEL names (INFO), as LOG_FORMAT says (line). Raises ValueError."""
    handler, form = logging.StreamHandler(), os.environ.get("LOG_FORMAT") or "line"
    if form not in _FORMATS:
        raise ValueError(f"LOG_FORMAT must be one of {', '.join(_FORMATS)}, not {form[:40]!r}")
    handler.setFormatter(_FORMATS[form]())
    handler.addFilter(ContextFilter())
    logging.basicConfig(level=os.environ.get("LOG_LEVEL") or "INFO", handlers=[handler])
