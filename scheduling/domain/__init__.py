"""The words of scheduling as plain data: requests, policies, the host table, traces. No Django, no database."""
