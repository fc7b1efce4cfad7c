"""Runs `openstack` commands of one process after another. Started with the interpreter that has python-openstackclient.

Each line of standard input is a JSON list, the words after `openstack`; each line of standard output is a JSON object
of `code`, `out` and `err`. All commands share one shell, as those that are typed at its prompt do, and with it one
log-in; a line that begins with an option of the whole program has a shell of its own, as `openstack --os-... ` has.
"""

import contextlib
import io
import json
import os
import sys
import time

from openstackclient.shell import OpenStackShell

LONGEST_SLEEP_S = 0.2


class Terminal(io.StringIO):
    """Standard input as commands find it that a person types: they do not take an image's bytes from it."""

    def isatty(self) -> bool:
        """A person sits here."""
        return True


class Capture(io.StringIO):
    """An output that outlives the commands that write to it."""

    def taken(self) -> str:
        """What was written since the last time."""
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text


def main() -> None:
    """See the module. Ends with its input."""
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    sys.stdin, out, err = Terminal(), Capture(), Capture()
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, LONGEST_SLEEP_S))  # commands that wait look every five seconds
    shared: OpenStackShell | None = None
    for line in asked:
        words = json.loads(line)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                if words[0].startswith("--"):
                    code = OpenStackShell().run(words)
                elif shared is None:
                    shared = OpenStackShell()
                    code = shared.run(words)
                else:
                    code = shared.run_subcommand(words)
            except SystemExit as end:  # what argparse does with words that it does not know
                code = end.code
        answers.write(json.dumps({"code": code or 0, "out": out.taken(), "err": err.taken()}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
