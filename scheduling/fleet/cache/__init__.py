"""The fleet as this process caches it: refreshed from what changed, never trusted by a claim."""
