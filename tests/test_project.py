"""Project rules: imports, length of modules, docstrings, public names."""

import ast
import graphlib
import importlib
import pathlib
import re
import tomllib
import types
from collections import defaultdict
from typing import NamedTuple

import pytest

import akkm
import experiments.datasets
import experiments.paper
import registry

SOURCE = pathlib.Path(akkm.__file__).parent
TESTS = pathlib.Path(__file__).parent

# Every package or module of akkm, lower layers first. Each imports only from
# layers that are earlier in this list, never from its own layer.
LAYERS = [
    ["forks"],
    [
        *("atomic_file", "documentation", "extras", "limits", "silence"),
        *("typing", "user_warnings", "version"),
    ],
    ["rows"],
    ["kernels"],
    ["core"],
    ["validation"],
    ["guided", "landmarks"],
    ["approx"],
    ["diffusion", "metrics"],
    ["consensus", "layers", "methods", "theory"],
    ["estimators"],
    ["images", "tables"],
    ["inspect"],
    ["plot", "report", "model_file"],
    ["clustering"],
    ["cli"],
]
LAYER_OF = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
# Packages and modules that have `__all__`. The modules of other packages (such as core)
# are imported one by one.
LISTED = [
    module
    for module in (
        akkm,
        *(importlib.import_module(f"akkm.{name}") for name in LAYER_OF),
        experiments.datasets,
        experiments.paper,
    )
    if hasattr(module, "__all__")
]


class Import(NamedTuple):
    """One imported module or name, at any place in a file."""

    path: pathlib.Path
    line: int
    module: str  # "akkm.rows.open"
    name: str  # "open_rows", or "" for `import akkm.rows.open`

    def __str__(self):
        return f"{self.path}, line {self.line}: {self.module} {self.name}".rstrip()

    @property
    def package(self):
        """Name of the package or module directly below akkm, such as "rows"."""
        return self.module.split(".")[1]

    @property
    def is_private(self):
        parts = [*self.module.split("."), self.name]
        return any(part.startswith("_") and part[:2] != "__" for part in parts)


def package_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_in(path, source=None):
    """Yield all imports from akkm, including those inside functions."""
    for node in ast.walk(ast.parse(source or path.read_text())):
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}: relative import"
            found = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in found:
            if module.split(".")[0] == "akkm":
                yield Import(path, node.lineno, module, name)


@pytest.fixture(scope="module")
def imports():
    """All imports from akkm in src/akkm, except those in src/akkm/__init__.py."""
    return [
        used
        for path in MODULES
        if path != SOURCE / "__init__.py"
        for used in imports_in(path)
    ]


def test_every_package_and_module_has_a_layer():
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    names = [name for layer in LAYERS for name in layer]
    assert sorted(names) == sorted({*PACKAGES, *modules})


def test_no_module_imports_akkm_itself(imports):
    assert not [str(used) for used in imports if used.module == "akkm"]


def test_imports_are_from_lower_layers_only(imports):
    across = [
        used
        for used in imports
        if used.module != "akkm" and used.package != package_of(used.path)
    ]
    assert len(across) > 100
    upward = [
        str(used)
        for used in across
        if LAYER_OF[used.package] >= LAYER_OF[package_of(used.path)]
    ]
    assert not upward, "\n".join(upward)


def test_private_modules_and_names_stay_in_their_package(imports):
    foreign = [
        str(used)
        for used in imports
        if used.is_private and used.package != package_of(used.path)
    ]
    assert not foreign


def test_packages_do_not_import_each_other_in_a_cycle(imports):
    graph = defaultdict(set)
    for used in imports:
        graph[package_of(used.path)].add((used.module + ".akkm").split(".")[1])
    for path in MODULES:
        graph[package_of(path)].discard(package_of(path))
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_experiments_import_nothing_private_of_akkm():
    paths = pathlib.Path(experiments.__path__[0]).rglob("*.py")
    used = [used for path in paths for used in imports_in(path)]
    assert len(used) > 30
    assert not [str(one) for one in used if one.is_private]


def storage_types():
    """Names of the classes in akkm.rows that are not exceptions."""
    for path in (SOURCE / "rows").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.endswith("Error"):
                yield node.name


def test_only_the_rows_package_checks_storage_types():
    types = set(storage_types())
    assert types >= {"Rows", "ArrayRows", "DiskRows", "RemoteRows", "Batches"}
    for path in MODULES:
        if package_of(path) == "rows":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id not in ("isinstance", "issubclass"):
                    continue
                inside = {
                    getattr(part, "id", getattr(part, "attr", None))
                    for argument in node.args[1:]
                    for part in ast.walk(argument)
                }
                assert not types & inside, f"{path}, line {node.lineno}"


def test_modules_have_at_most_400_lines():
    for path in MODULES:
        assert len(path.read_text().splitlines()) <= 400, path


def test_test_modules_have_at_most_600_lines():
    for path in TESTS.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 600, path


@pytest.mark.parametrize("package", PACKAGES)
def test_package_docstrings_say_what_belongs_in_the_package(package):
    """The docstring of a package has at least two sentences."""
    text = importlib.import_module(f"akkm.{package}").__doc__
    assert len(re.findall(r"\.(?=\s+[A-Z`]|\s*$)", text)) >= 2, text


@pytest.mark.parametrize("module", LISTED, ids=lambda module: module.__name__)
def test_lists_of_public_names_are_complete(module):
    """`__all__` names all public objects of a module, and each has a docstring."""
    public = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and getattr(value, "__module__", "").startswith(module.__name__)
    }
    assert public <= set(module.__all__)
    assert len(module.__all__) == len(set(module.__all__))
    for key in module.__all__:
        value = getattr(module, key)
        assert isinstance(value, str | tuple | types.GenericAlias) or value.__doc__, key


@pytest.mark.parametrize(
    "module",
    [akkm, *(m for m in LISTED if m.__name__.removeprefix("akkm.") in akkm.__all__)],
    ids=lambda module: module.__name__,
)
def test_dir_of_public_modules_has_only_public_names(module):
    importlib.import_module("akkm.consensus.on_workers")  # an internal module
    listed = [name for name in dir(module) if not name.startswith("_")]
    assert listed == sorted(name for name in module.__all__ if name[0] != "_")


def test_messages_and_docs_install_extras_from_a_clone():
    """There is no release, so only `pip install '.[extra]'` can work."""
    files = [*MODULES, *TESTS.parent.glob("*.md")]
    files += [*TESTS.parent.glob("docs/*.md"), *TESTS.parent.rglob("experiments/*.py")]
    for path in files:
        assert not re.search(r"akkm\[\w+\]", path.read_text()), path


@pytest.mark.parametrize("Estimator", registry.ESTIMATORS)
def test_estimators_have_examples(Estimator):
    assert ">>> " in Estimator.__doc__


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert version("akkm") == akkm.__version__


def test_html_links_lead_to_pages_of_the_api_reference():
    pyproject = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())
    address = pyproject["project"]["urls"]["Documentation"]
    tables = importlib.import_module("akkm.tables")
    kinds = {f"akkm.{kind.__name__}": kind(2) for kind in registry.ESTIMATORS}
    kinds["akkm.tables.TableEncoder"] = tables.TableEncoder()
    kinds["akkm.images.SpatialPyramid"] = akkm.images.SpatialPyramid()
    for name, estimator in kinds.items():
        assert estimator._get_doc_link() == f"{address}/api/generated/{name}.html"
