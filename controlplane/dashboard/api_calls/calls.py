"""A call of `/api/` as text for a shell. It names the token by a variable, and holds no secret."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HIDDEN = "..."
"""In place of a password: whoever runs the line fills it in."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    """`path` is below `/api`, with its query. `body` is sent as JSON; None sends nothing. `about` says what the call
    does, where a page has several.
    """

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    about: str = ""

    def as_curl(self) -> str:
        """As a person types it: GET is what curl does by itself, and --json makes it a POST."""
        method = "" if self.method == ("GET" if self.body is None else "POST") else f" -X {self.method}"
        line = f'curl -s{method} -H "X-Auth-Token: $TOKEN" "$API"{shlex.quote(self.path)}'
        if self.body is None:
            return line
        return f"{line} \\\n  --json {shlex.quote(json.dumps(self.body, ensure_ascii=False))}"
