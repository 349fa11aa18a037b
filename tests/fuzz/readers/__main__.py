"""Run the coverage-guided fuzzer: python -m tests.fuzz.readers csv --seconds 600."""

import argparse
import os
import resource
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

# Limit on the address space, in bytes. It is high because pyarrow leaks some address
# space, but no memory, for each truncated gzip file.
_ADDRESS_SPACE = 64 * 2**30

with atheris.instrument_imports(include=["akkm", "skops"]):
    from tests.fuzz.readers.targets import TARGETS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.readers")
    parser.add_argument("format", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--corpus", help="folder that keeps inputs for the next run")
    given = parser.parse_args()
    target = TARGETS[given.format]
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    # Files with a million columns are valid, but reading them takes seconds.
    os.environ.setdefault("AKKM_MAX_COLUMNS", "5000")
    warnings.simplefilter("error")
    # Large numbers in a model are valid, although sums of them overflow with a warning.
    warnings.simplefilter("ignore", RuntimeWarning)
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Path(given.corpus or temporary, "corpus")
        corpus.mkdir(parents=True, exist_ok=True)
        for i, seed in enumerate(target.seeds()):
            (corpus / f"seed-{i}").write_bytes(seed)
        folder = Path(temporary)
        arguments = [
            *(sys.argv[0], str(corpus), f"-max_total_time={given.seconds}"),
            *("-timeout=20", "-rss_limit_mb=2500", "-max_len=20000"),
        ]
        atheris.Setup(arguments, lambda data: target.read(data, folder))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
