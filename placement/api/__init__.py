"""Placement in the control plane's own REST API: to read. Placement's own HTTP API is in `placement.openstack`."""
