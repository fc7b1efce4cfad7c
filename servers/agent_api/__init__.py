"""The control plane's end of the agents' Protocol, in-process, over services and selectors."""

from servers.agent_api.connection import conductor_connect, database_reached
from servers.agent_api.connections import Connections, OwnConnections, SharedConnections

__all__ = ["Connections", "OwnConnections", "SharedConnections", "conductor_connect", "database_reached"]
