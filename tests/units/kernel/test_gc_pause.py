"""Work that makes many objects is not interrupted by collections, and whoever switched them off keeps them off."""

import gc
import os

import pytest

from controlplane.kernel.gc_pause import gc_pause, gc_paused, gc_resume


def test_no_collection_runs_meanwhile_and_they_run_again_after_an_error() -> None:
    before = [one["collections"] for one in gc.get_stats()]

    @gc_paused()
    def work() -> None:
        kept = [[number] for number in range(100_000)]
        raise ValueError(len(kept))

    with pytest.raises(ValueError, match="100000"):
        work()
    assert [one["collections"] for one in gc.get_stats()][2] == before[2]
    assert gc.isenabled()


def test_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_collector_is_on_again_after_the_last_of_several_pauses() -> None:
    gc_pause()
    with gc_paused():
        gc_pause()
    gc_resume()
    assert not gc.isenabled()
    gc_resume()
    assert gc.isenabled()
    gc_resume()  # nobody paused it
    assert gc.isenabled()


def test_process_that_is_forked_meanwhile_collects() -> None:
    with gc_paused():
        pid = os.fork()
        if not pid:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
