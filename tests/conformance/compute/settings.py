"""The settings of the installation under test: those of development, with passwords that are hashed cheaply.

Every class of tests makes users of its own and logs in as each of them, and what a log-in costs is not what is tested.
"""

from controlplane.settings.dev import *  # noqa: F403 - settings are made this way

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
