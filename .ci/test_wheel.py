"""Test a wheel in new environments, with its oldest and its newest dependencies.

    python .ci/test_wheel.py dist/akkm-0.1.0-py3-none-any.whl

uv creates the environments in a temporary folder, for all versions of Python from 3.11
to 3.14 that are on the PATH or in pyenv. Each version gets the newest dependencies. The
oldest version is also tested with the oldest dependencies that pyproject.toml allows.
The tests run against the installed wheel, not against src. The wheel is also installed
without extras, to see whether it can be imported and how large it is with its
dependencies. A table of results is printed at the end.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = "cli,dask,files,metis,numba,plot"
TOOLS = ("hypothesis", "pandas", "polars", "pytest<9", "numpydoc")
TESTS = (
    "tests/approx",
    "tests/estimators",
    "tests/tables",
    "tests/cli/test_cluster.py",
)
SHOWN = ("numpy", "scipy", "scikit-learn", "pyarrow", "dask")


def interpreters():
    """Yield versions and paths of the available interpreters, the oldest first."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for minor in range(11, 15):
        version = f"3.{minor}"
        folders = [*map(str, pyenv.glob(f"{version}.*/bin")), os.environ["PATH"]]
        found = subprocess.run(
            ["uv", "python", "find", "--no-python-downloads", version],
            env={**os.environ, "PATH": os.pathsep.join(folders)},
            capture_output=True,
            text=True,
        )
        if not found.returncode:
            yield version, found.stdout.strip()


def tested(wheel, version, python, resolution, folder):
    """Install the wheel, run the tests, and return a line of the table."""
    place = Path(folder, f"{version}-{resolution}")
    run = {"check": True, "env": {**os.environ, "OPENBLAS_NUM_THREADS": "1"}}
    subprocess.run(["uv", "venv", "--quiet", "--python", python, place], **run)
    install = ["uv", "pip", "install", "--quiet", "--python", place]
    # uv lowers only versions of requirements that are given to it directly. So read the
    # requirements from pyproject.toml, and install the wheel without dependencies.
    extras = [f"--extra={extra}" for extra in EXTRAS.split(",")]
    direct = [f"--resolution={resolution}", "-r", ROOT / "pyproject.toml", *extras]
    subprocess.run([*install, *direct], **run)
    subprocess.run([*install, "--no-deps", wheel], **run)
    subprocess.run([*install, *TOOLS], **run)
    # Old versions of some dependencies use deprecated functions of the others.
    quiet = ["-W", "ignore::DeprecationWarning"]
    options = ["-q", "-p", "no:cacheprovider", "-o", "pythonpath=. tests", *quiet]
    options += ["-o", "addopts=--import-mode=importlib"]
    python_there = place / "bin" / "python"
    done = subprocess.run(
        [python_there, "-m", "pytest", *options, *TESTS],
        cwd=ROOT,
        env=run["env"],
        stdout=subprocess.PIPE,
        text=True,
    )
    summary = done.stdout.strip().splitlines()[-1]
    if done.returncode:
        print(done.stdout)
    listed = subprocess.run(
        ["uv", "pip", "list", "--python", place, "--format=freeze"],
        **run,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    versions = dict(re.findall(r"^(\S+)==(\S+)", listed, re.M))
    return (version, *(versions[name] for name in SHOWN), summary), done.returncode


def minimal_size(wheel, python, folder):
    """Install the wheel without extras, fit a model, and return the size in MB."""
    place = Path(folder, "minimal")
    subprocess.run(["uv", "venv", "--quiet", "--python", python, place], check=True)
    install = ["uv", "pip", "install", "--quiet", "--link-mode=copy", "--python", place]
    subprocess.run([*install, wheel], check=True)
    fit = "import akkm; akkm.ApproxKernelKMeans(2).fit([[0.0], [0.1], [3.0], [3.1]])"
    subprocess.run([place / "bin" / "python", "-c", fit], check=True, cwd=folder)
    files = (path for path in place.rglob("*") if not path.is_symlink())
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def main():
    """Test the wheel that is named on the command line."""
    wheel = Path(sys.argv[1]).resolve()
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = list(interpreters())
    cases = [(*found[0], "lowest-direct"), *((*one, "highest") for one in found)]
    with tempfile.TemporaryDirectory() as folder:
        size = minimal_size(wheel, found[-1][1], folder)
        results = [tested(wheel, *case, folder) for case in cases]
    print("python", *SHOWN, "tests", sep=" | ")
    for line, _ in results:
        print(*line, sep=" | ")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e3:,.0f} kB")
    print(f"installed without extras, with all dependencies: {size:,.0f} MB")
    sys.exit(any(code for _, code in results))


if __name__ == "__main__":
    main()
