"""Nova's side of a comparison, in a process of its own: run by a Python that has nova installed, spoken to in JSON.

    NOVA_PYTHON nova_side.py BENCH_DIR

BENCH_DIR holds bench_nova_scheduler.py and what it imports; the cases are those it measures, run one call at a time
on demand, so that the two sides take turns. Each line of the standard input asks {"hosts", "config", "request",
"case", "seconds"}; each line of the answer is a list of CPU milliseconds, one for each call made.
"""

import argparse
import importlib
import json
import sys
import time


class Recorder:
    """Stands in for the script's `measure`: keeps what is to be measured instead of measuring it."""

    def __init__(self, script):
        self.script = script
        self.cases = {}
        script.measure = self.record
        script.Bench.emit = lambda bench, case, measured, **more: self.cases.update({case: measured})

    def record(self, func, reps, seconds, setup=None):
        """What `measure` would have called, and what makes its arguments."""
        return func, setup or (lambda: ())


class Fleet:
    """One fleet under one configuration, and the cases of each request once they were asked for."""

    def __init__(self, recorder, hosts, config):
        script, fixture = recorder.script, recorder.script.fixture
        extra = fixture.DEFAULT_FILTERS + fixture.EXTRA_FILTERS
        filters = extra if config.startswith("extra") else fixture.DEFAULT_FILTERS
        options = argparse.Namespace(reps=1, seconds=0)
        numa, pinned = config.startswith("extra"), config == "extra_pinned"
        self.recorder = recorder
        self.bench = script.Bench(options, hosts, filters, numa, pinned, config)
        if config == "plugin":
            self.bench.manager.enabled_filters.append(plugin())
        self.requests = {}

    def case(self, request, name):
        """What to call, and what makes its arguments."""
        if request not in self.requests:
            self.recorder.cases = {}
            self.bench.run_build()
            self.bench.run(arguments(request), request)
            self.requests[request] = self.recorder.cases
        return self.requests[request][name]


def plugin():
    """The plug-in filter as Nova's loader would make it."""
    # Only this side has nova, and it is set up by now.
    filters = importlib.import_module("nova.scheduler.filters")
    SpareRoom = importlib.import_module("plugin").SpareRoom  # noqa: N806 - a class
    return type("SpareRoom", (SpareRoom, filters.BaseHostFilter), {})()


def arguments(request):
    """How the fixture is asked for one of its requests."""
    specs = {
        "agg_extra_spec": {"aggregate_instance_extra_specs:ssd": "true"},
        "numa_2_nodes": {"hw:numa_nodes": "2"},
        "pinned": {"hw:cpu_policy": "dedicated"},
    }
    if request == "pci_gpu":
        return {"pci": True}
    return {"extra_specs": specs[request]} if request in specs else {}


def timed(func, setup, seconds):
    """CPU milliseconds of each call, for about so many seconds of them; one at least."""
    spent = []
    end = time.process_time() + seconds
    while not spent or time.process_time() < end:
        given = setup()
        start = time.process_time()
        func(*given)
        spent.append((time.process_time() - start) * 1000)
    return spent


def main():
    """Answer until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bench_dir")
    sys.path.insert(1, parser.parse_args().bench_dir)
    answers, sys.stdout = sys.stdout, sys.stderr
    recorder = Recorder(importlib.import_module("bench_nova_scheduler"))
    recorder.script.fixture.setup()
    key, fleet = None, None
    for line in sys.stdin:
        asked = json.loads(line)
        if key != (asked["hosts"], asked["config"]):
            key, fleet = (asked["hosts"], asked["config"]), None
            fleet = Fleet(recorder, *key)
        spent = timed(*fleet.case(asked["request"], asked["case"]), asked["seconds"])
        print(json.dumps(spent), file=answers, flush=True)


if __name__ == "__main__":
    main()
