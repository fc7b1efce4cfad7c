"""The OpenStack doors to instances, images, networks and volumes: Compute, Image, Network, Volume.

Each is a folder with its route table (`routes.py`, the whole door on one screen), its views, schemas and faults. A view
reads a request, calls the service or selector that `/api/` and the pages call, and writes the answer; no rule of the
domain stands here. What all of them share stands beside this text.
"""
