"""Docstrings of all public objects pass the checks that pyproject.toml selects."""

import importlib
import inspect
import pathlib
import tomllib

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

import akkm

CONFIGURATION = pathlib.Path(__file__).parents[1] / "pyproject.toml"
CHECKS = tomllib.loads(CONFIGURATION.read_text())["tool"]["numpydoc_validation"]
EXCLUDED = set(CHECKS["checks"]) - {"all"}
PUBLIC = [
    akkm,
    *(v for name in akkm.__all__ if inspect.ismodule(v := getattr(akkm, name))),
    importlib.import_module("akkm.tables"),
]


def methods(kind):
    """Yield public methods and properties of a class, including those inherited."""
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        value = getattr(value, "__func__", value)
        function = value.fget if isinstance(value, property) else value
        if (
            not name.startswith("_")
            and inspect.isfunction(function)
            and function.__module__.startswith("akkm.")
        ):
            yield name, value


def public_objects():
    for module in PUBLIC:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                for method, function in methods(value):
                    yield f"{module.__name__}.{name}.{method}", function


OBJECTS = dict(public_objects())


def needs_example(value):
    """Whether the object needs an example: only functions and estimators do."""
    if inspect.isclass(value):
        return issubclass(value, BaseEstimator)
    return inspect.isfunction(value) and "." not in value.__qualname__


def keyword_only(kind):
    """Whether only the first parameter may be given by position."""
    _, *others = inspect.signature(kind).parameters.values()
    return all(p.kind is p.KEYWORD_ONLY for p in others)


def errors(name):
    value = OBJECTS[name]
    if value.__doc__ is None:
        owner, _, method = name.rpartition(".")
        if inspect.getdoc(getattr(OBJECTS[owner], method)):
            return  # inherits the docstring of the overridden method
    for code, text in validate(get_doc_object(value))["errors"]:
        if code in EXCLUDED or (code == "EX01" and not needs_example(value)):
            continue
        if code == "PR03" and inspect.isclass(value) and keyword_only(value):
            continue  # keyword-only parameters are ordered by topic
        if code == "PR01" and getattr(value, "_is_protocol", False):
            continue  # a protocol is not constructed
        yield f"{name}: {code} {text}"


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_docstrings_follow_numpydoc(module):
    names = [f"{module.__name__}.{name}" for name in module.__all__]
    own = [n for n in OBJECTS if n in names or n.rpartition(".")[0] in names]
    found = [error for name in own for error in errors(name)]
    assert not found, "\n".join(found)


def test_all_public_objects_were_validated():
    assert len(OBJECTS) > 150
