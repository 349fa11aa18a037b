"""Warnings of libraries are ignored in all threads, and only as long as needed."""

import threading
import warnings

import pytest

from akkm.silence import ignore_warnings


def test_warnings_are_ignored_until_the_last_thread_is_done():
    first_left, done = threading.Event(), threading.Event()

    def stay():
        with ignore_warnings(UserWarning):
            first_left.wait(10)
            # If this warning were not ignored, it would be an error, as in all tests.
            warnings.warn("ignored", UserWarning, stacklevel=1)
        done.set()

    other = threading.Thread(target=stay)
    with ignore_warnings(UserWarning):
        other.start()
        warnings.warn("ignored", UserWarning, stacklevel=1)
    first_left.set()
    other.join()
    assert done.is_set()
    with pytest.warns(UserWarning, match="not ignored"):
        warnings.warn("not ignored", UserWarning, stacklevel=1)


def test_other_filters_stay_as_they_were():
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        before = list(warnings.filters)
        with ignore_warnings(UserWarning), ignore_warnings(UserWarning):
            assert list(warnings.filters) != before
        assert list(warnings.filters) == before
