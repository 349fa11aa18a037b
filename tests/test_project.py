"""The house rules: imports point one way, public lists are complete."""

import ast
import pathlib

import akkm
import experiments.datasets
import experiments.paper

SOURCE = pathlib.Path(akkm.__file__).parent

# Every room may use those before it.
ROOMS = [
    ["engines", "gram", "bounds", "diffusion", "stored", "whole_file"],
    ["kernels", "gradient", "counting", "disk", "checkpoint", "mapped"],
    ["sources"],
    ["products"],
    ["nearest"],
    ["inputs", "parts"],
    ["landmarks", "graph", "ties", "remote"],
    ["lloyd", "model", "metrics", "consensus", "leaders", "walks", "anchors", "spread"],
    ["seeding", "exact", "theory"],
    ["approximate"],
    ["spectral", "stream"],
    ["estimators"],
    ["demo", "images", "tables"],
    ["encoding", "report"],
    ["plot", "model_file", "datasets"],
    ["experiments"],
    ["cli"],
]


def floor_of(room):
    return next(i for i, rooms in enumerate(ROOMS) if room in rooms)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "akkm":
                names = [name.name for name in node.names]
                yield from ("estimators" if n[0].isupper() else n for n in names)
            elif node.module.startswith("akkm."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("akkm."):
                    yield name.name.split(".")[1]


def test_imports_point_one_way():
    seen = 0
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for used in imports(path):
            if used not in (room, "__version__"):
                assert floor_of(used) < floor_of(room), f"{path.name} imports {used}"
                seen += 1
    assert seen > 30


def test_modules_can_be_read_at_one_sitting():
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path


def test_public_lists_are_complete():
    modules = (
        akkm.consensus,
        experiments.datasets,
        experiments.paper,
        akkm.images,
        akkm.kernels,
        akkm.landmarks,
        akkm.metrics,
        akkm.theory,
    )
    for module in (akkm, *modules):
        public = {
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and getattr(value, "__module__", "").startswith(module.__name__)
        }
        assert public <= set(module.__all__), module.__name__
        for name in module.__all__:
            value = getattr(module, name)
            assert isinstance(value, str | tuple) or value.__doc__, name


def test_estimators_have_runnable_examples():
    names = [name for name in akkm.__all__ if name[0].isupper()]
    assert len(names) == 9
    for name in names:
        assert ">>> " in getattr(akkm, name).__doc__


def test_version_is_the_packages():
    from importlib.metadata import version

    assert version("akkm") == akkm.__version__
