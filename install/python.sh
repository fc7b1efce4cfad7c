#!/bin/sh
# python.sh: print the interpreter to build the virtual environment with (3.11 or 3.12).
# The system's own comes first: distributions build it with profile-guided optimisation, version managers mostly do not,
# and requests, decisions and tests then take 1.4 times as long.
for candidate in ${PYTHON:-} /usr/bin/python3.11 /usr/bin/python3.12 python3.11 python3 python3.12; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null; then
        command -v "$candidate"
        exit 0
    fi
done
echo "Kilonova needs Python 3.11 or 3.12 (Debian 12: apt-get install python3). PYTHON=... names another one." >&2
exit 1
