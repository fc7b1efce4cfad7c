"""The control plane's end of the agents' Protocol, over services and selectors. Tests ask it in-process, agents by the
door.
"""

from servers.agent_api.connection import conductor_connect
from servers.agent_api.reached import database_reached

__all__ = ["conductor_connect", "database_reached"]
