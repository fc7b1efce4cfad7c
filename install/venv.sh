#!/bin/sh
# venv.sh PYTHON VENV LOCK: a virtual environment with exactly the locked packages of LOCK.
set -eu
python=$1 venv=$2 lock=$3
if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then "$python" -m venv --clear "$venv"; fi
"$venv/bin/python" -m pip install --quiet --no-compile --require-hashes -r "$lock"
# As pip does it, but on all cores. What does not compile is no module that anybody imports.
"$venv/bin/python" -m compileall -qq -j 0 "$venv/lib" || true
