"""Threads: BLAS gets back the number of threads that it had."""

import threading

from threadpoolctl import threadpool_info

from akkm.core.threads import Threads


def blas_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


def test_fits_side_by_side_leave_blas_as_it_was():
    before = blas_threads()
    inside, ended = threading.Event(), threading.Event()

    def first():
        with Threads(1):
            inside.set()
            ended.wait()

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with Threads(1):
        ended.set()
        thread.join()
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
