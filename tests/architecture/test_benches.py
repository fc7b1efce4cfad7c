"""Each bench can be started: no test runs them, so what keeps one from starting would show only when somebody does.

A program begins before Django is set up, other than the tests that import it (`test_drill_programs`).
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Runs in an environment that has Nova.
ELSEWHERE = {"nova_side"}
TEXTS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text()
    for path in (ROOT / "bench").rglob("*.py")
    if path.stem not in ELSEWHERE
}
PROGRAMS = [name for name, text in sorted(TEXTS.items()) if 'if __name__ == "__main__":' in text]
IMPORT = """
import importlib, sys, traceback
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception:
        print(name, traceback.format_exc())
"""


def test_benches_begin_without_django() -> None:
    assert "bench.pipeline" in PROGRAMS
    last = sorted(PROGRAMS, key=lambda name: "\ndjango.setup()" in TEXTS[name])  # these set it up themselves
    settings = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL")
    env = {name: value for name, value in os.environ.items() if name not in settings}
    found = subprocess.run(
        [sys.executable, "-c", IMPORT, *last], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (found.stdout, found.returncode) == ("", 0), found.stderr
