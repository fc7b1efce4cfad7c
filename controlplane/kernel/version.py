"""Which release this is, the same for the control plane and for its agents."""

VERSION = "0.1.0"
"""That of pyproject.toml. It stands here because an agent may run from a directory that no installer has seen."""
