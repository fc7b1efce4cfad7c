"""The fleet and its decisions on the control plane's own REST API."""
