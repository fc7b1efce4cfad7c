"""Volumes on a host: one backend for each kind of pool behind one Protocol. No Django, no libvirt."""
