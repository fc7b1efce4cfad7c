"""The control plane's end of `computeagent.conductor`: the Protocol, in-process, over services and selectors."""

from servers.conductor_api.connection import conductor_connect, database_reached
from servers.conductor_api.connections import Connections, SharedConnections

__all__ = ["Connections", "SharedConnections", "conductor_connect", "database_reached"]
