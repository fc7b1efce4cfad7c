"""The microversions that this API speaks."""

from controlplane.openstack.microversions import Microversions

VERSIONS = Microversions("placement", major=1, min_minor=0, max_minor=39)
MIN_VERSION, MAX_VERSION = VERSIONS.text(VERSIONS.min_minor), VERSIONS.text(VERSIONS.max_minor)
