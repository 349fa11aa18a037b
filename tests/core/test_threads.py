"""The number of BLAS threads is restored after use."""

import threading

from threadpoolctl import threadpool_info

from akkm.core.threads import Threads


def blas_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


def test_concurrent_fits_restore_the_number_of_blas_threads():
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
