"""Where the control plane is, and how to get there: its URL, TLS, a proxy."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from controlplane.kernel.errors import Invalid

CONNECT_S = 5.0
ANSWER_S = 30.0
MAX_CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class ControlPlaneAddress:
    """`url` is that of the control plane, with a path where it has one; `ca_file` holds the certificates to trust
    instead of the system's, `cert_file` and `key_file` the agent's own for mutual TLS. After `answer_s` without a byte
    of an answer, none is waited for any more. A proxy comes from HTTP_PROXY, HTTPS_PROXY and NO_PROXY, with name and
    password where it asks for them (http://name:password@proxy:3128).
    """

    url: str
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    answer_s: float = ANSWER_S

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise Invalid(f"{self.url[:200]!r} is no address such as https://cloud.example.org", field="control_plane")
        if parts.username or parts.password:
            raise Invalid("The control plane's address must hold no name and no password.", field="control_plane")

    @property
    def is_in_clear(self) -> bool:
        """Whether others on the way can read what is said: HTTP without TLS, to another machine than this."""
        parts = urlsplit(self.url)
        return parts.scheme == "http" and not _is_this_machine(parts.hostname or "")

    def path_of(self, path: str) -> str:
        """The whole URL of a path that begins with a slash."""
        return self.url.rstrip("/") + path

    def pool(self) -> urllib3.PoolManager:
        """Kept connections, safe to share between threads. Nothing is tried again here: the agent does."""
        options: dict[str, Any] = {
            "timeout": urllib3.Timeout(connect=CONNECT_S, read=self.answer_s),
            "retries": False,
            "maxsize": MAX_CONNECTIONS,
            "ca_certs": self.ca_file or None,
            "cert_file": self.cert_file or None,
            "key_file": self.key_file or None,
        }
        proxy = self.proxy()
        if not proxy:
            return urllib3.PoolManager(**options)
        return urllib3.ProxyManager(proxy, proxy_headers=_who_asks(proxy), **options)

    def proxy(self) -> str:
        """The URL of the proxy on the way; empty without one."""
        parts = urlsplit(self.url)
        if proxy_bypass(parts.netloc):
            return ""
        return getproxies().get(parts.scheme, "")


def _who_asks(proxy: str) -> dict[str, str]:
    """The name and password in a proxy's URL, as a header: urllib3 leaves them there."""
    credentials = urllib3.util.parse_url(proxy).auth
    return urllib3.make_headers(proxy_basic_auth=unquote(credentials)) if credentials else {}


def _is_this_machine(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
