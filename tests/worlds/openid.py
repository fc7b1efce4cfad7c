"""A real OpenID provider in a thread, and the browser that people have there. It never touches the database."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from tests.fixtures.patience import PATIENCE_S

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from oidc_provider_mock import User, run_server_in_thread

PEOPLE = [
    User(sub="sub-olga", claims={"preferred_username": "olga", "email": "olga@example.org", "groups": ["lab"]}),
    User(sub="sub-otto", claims={"preferred_username": "otto", "groups": ["chiefs"]}),
    User(sub="sub-nameless", claims={}),
]


@dataclass(frozen=True)
class Provider:
    """Where it is."""

    issuer: str

    def settings(self, **changes: Any) -> dict[str, Any]:
        """What an installation is told of it."""
        told = {
            "OIDC_ISSUER": self.issuer,
            "OIDC_CLIENT_ID": "kilonova",
            "OIDC_CLIENT_SECRET": "client word",
            "OIDC_NAME": "Example",
        }
        return {**told, **changes}

    def come_back(self, address: str, subject: str) -> str:
        """Log in there as this person, and return the path and query that the browser is sent back to."""
        answer = requests.post(address, data={"sub": subject}, allow_redirects=False, timeout=PATIENCE_S)
        assert answer.status_code == 302, re.sub(r"<[^>]+>", "", answer.text)
        back = urlsplit(answer.headers["Location"])
        return f"{back.path}?{back.query}"


def asked(address: str) -> dict[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


@contextmanager
def openid_provider() -> Iterator[Provider]:
    """Running until the end of the block."""
    with run_server_in_thread(user_claims=PEOPLE, require_nonce=True) as server:
        yield Provider(f"http://localhost:{server.server_port}")
