"""Labels do not depend on the number of threads that OpenMP and BLAS use.

`make test` limits both to one thread. So each number of threads is tested in a new
process.
"""

import os
import subprocess
import sys

from registry import ESTIMATORS

FITS = """
import sys
import warnings
import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info
from registry import ESTIMATORS, create

warnings.simplefilter("ignore")
used = {pool["num_threads"] for pool in threadpool_info()}
assert used == {int(sys.argv[1])}, used
X = load_digits().data[:250]
for Estimator in ESTIMATORS:
    labels = create(Estimator, 4).fit_predict(X)
    print(Estimator.__name__, *labels)
"""


def test_labels_do_not_depend_on_openmp_and_blas():
    printed = []
    for count in ("1", "2"):
        threads = {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
        paths = {"PYTHONPATH": os.pathsep.join(["tests", *sys.path])}
        child = subprocess.run(
            [sys.executable, "-c", FITS, count],
            env=os.environ | threads | paths,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(child.stdout.splitlines())
    assert len(printed[0]) == len(ESTIMATORS)
    assert printed[0] == printed[1]
