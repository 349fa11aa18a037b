"""A process that is forked during or after a fit can itself fit and read rows."""

import os
import signal
import threading
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import akkm
from akkm import silence
from akkm.core import threads
from akkm.core.threads import Threads
from akkm.silence import ignore_warnings

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system can't fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


def succeeds_in_child(action):
    """Return whether `action()` returns within 10 seconds in a forked process."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        try:
            action()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def squares():
    with Threads(2) as engine:
        assert list(engine.map(lambda x: x * x, range(5))) == [0, 1, 4, 9, 16]


def ignore():
    with ignore_warnings(UserWarning):
        pass


@contextmanager
def another_thread_in(block):
    """Within this context, another thread is inside the context manager `block`."""
    inside, end = threading.Event(), threading.Event()

    def run():
        with block:
            inside.set()
            end.wait()

    thread = threading.Thread(target=run)
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_the_lock_of_the_blas_limit_is_free_in_a_child():
    with threads._one_blas_thread._lock:
        assert succeeds_in_child(squares)


def test_the_lock_of_the_warning_filters_is_free_in_a_child():
    with silence._filters._lock:
        assert succeeds_in_child(ignore)


def test_a_child_does_not_ignore_the_warnings_that_other_threads_ignore():
    def check():
        with pytest.warns(UserWarning, match="seen"):
            warnings.warn("seen", UserWarning, stacklevel=1)

    with another_thread_in(ignore_warnings(UserWarning)):
        assert succeeds_in_child(check)


def test_an_open_pool_works_in_a_child():
    with Threads(2) as engine:
        list(engine.map(abs, range(100)))

        def use():
            assert list(engine.map(abs, [-1, -2])) == [1, 2]

        assert succeeds_in_child(use)


def test_fits_of_other_threads_do_not_limit_blas_in_a_child():
    def check():
        assert threads._one_blas_thread._limits is None
        squares()

    with another_thread_in(Threads(1)):
        assert succeeds_in_child(check)


def test_rows_in_files_can_be_read_in_a_child(tmp_path):
    X = np.arange(20.0).reshape(10, 2)
    np.save(tmp_path / "x.npy", X)
    rows = akkm.open_rows(tmp_path / "x.npy")
    np.testing.assert_array_equal(rows[:5], X[:5])
    rows._loaded.clear()  # so that the child must read the batch itself

    def read():
        assert np.array_equal(rows[np.array([7, 1])], X[[7, 1]])

    assert succeeds_in_child(read)
    with rows._lock:
        assert succeeds_in_child(read)
