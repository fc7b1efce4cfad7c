"""The control plane's end of `computeagent.conductor`: the Protocol, in-process, over services and selectors."""

from servers.conductor_api.connection import conductor_connect

__all__ = ["conductor_connect"]
