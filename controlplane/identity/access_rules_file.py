"""The operator's policy file, put in force when a process starts."""

from pathlib import Path

from controlplane.identity.conf import identity_options
from controlplane.identity.domain.policy import rules_replace
from controlplane.identity.domain.policy_file import policy_file_read


def access_rules_load() -> None:
    """Put the table in force, with what the file of the setting POLICY_FILE says instead. The file was judged when the
    settings were read; whoever changes it starts the processes again.
    """
    path = identity_options().policy_file
    rules_replace(policy_file_read(Path(path)) if path else {})
