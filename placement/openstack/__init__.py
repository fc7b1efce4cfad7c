"""Placement's own API, for OpenStack clients: microversions, status codes and bodies as the original gives them.

`door.serve` is the one Django view; `routes` is the table of what it serves; `views/` holds a function for each
method. The rules live in the services and selectors of this app.
"""
