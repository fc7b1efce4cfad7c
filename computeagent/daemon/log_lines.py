"""What an agent writes to its log: lines on standard error, each with the id of the request that it serves."""

import logging
import os

from controlplane.kernel.request_scope import current_request_id

LINE = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"


def log_to_stderr() -> None:
    """From now on, down to the level that LOG_LEVEL names (INFO)."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(LINE))
    handler.addFilter(_with_request_id)
    logging.basicConfig(level=os.environ.get("LOG_LEVEL", "INFO"), handlers=[handler])


def _with_request_id(record: logging.LogRecord) -> bool:
    record.request_id = current_request_id()
    return True
