"""Atomic files: the path holds either the complete new file or the old one."""

import os

import pytest

from akkm.atomic_file import AtomicFile


def test_the_file_appears_when_the_with_block_ends(tmp_path):
    path = tmp_path / "out.csv"
    with AtomicFile(path) as file:
        file.write(b"complete")
        assert not path.exists()
    assert path.read_bytes() == b"complete"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_the_old_file_and_nothing_else(error, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def write_half():
        with AtomicFile(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_two_writers_of_one_file_do_not_interfere(tmp_path):
    path = tmp_path / "out.csv"
    with AtomicFile(path) as first:
        with AtomicFile(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
        first.write(b"first")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to("real")
    with AtomicFile(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "usual").touch()
    with AtomicFile(tmp_path / "atomic"):
        pass
    modes = {(tmp_path / name).stat().st_mode for name in ("usual", "atomic")}
    assert len(modes) == 1
