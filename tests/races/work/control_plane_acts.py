"""A program that does what it is told on standard input, on the database of a race: {"act": ..., ...} a line."""

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
django.setup()

from computeagent.protocol.wire import secret_digest  # noqa: E402 - needs Django
from controlplane.work.wakeups import wakeups_send  # noqa: E402
from servers.agent_api.credentials import credential_revoke, credential_set  # noqa: E402

WORK = "00000000-0000-0000-0000-00000000000a"
ACTS = {
    "enrol": lambda hosts: [credential_set(host=host, secret_digest=secret_digest(f"kna_of-{host}")) for host in hosts],
    "wake": lambda hosts: wakeups_send([(f"compute.{host}", "build", WORK) for host in hosts]),
    "revoke": lambda hosts: [credential_revoke(host=host) for host in hosts],
}

for line in sys.stdin:
    act, hosts = json.loads(line)
    ACTS[act](hosts)
    print("done", flush=True)
