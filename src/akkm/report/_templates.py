"""Fill the templates of pages, and add the style and the scripts."""

import base64
import hashlib
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from akkm.extras import import_extra
from akkm.report import _format
from akkm.version import __version__


def filled(template: str, scripts: Sequence[str], **values: Any) -> str:
    """A page as HTML: a template filled with values, with style and scripts."""
    style, script = _text("page.css"), "".join(map(_text, scripts))
    return str(
        environment()
        .get_template(template)
        .render(
            values,
            style=style,
            style_hash=digest(style),
            script=script,
            script_hash=digest(script),
            version=__version__,
        )
    )


@cache
def environment() -> Any:
    """The Jinja2 environment; it escapes values unless they are marked as safe."""
    jinja2 = import_extra("jinja2", "The report needs Jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("akkm.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "allow_nan": False,
        "separators": (",", ":"),
    }
    environment.tests["finite"] = math.isfinite
    for function in (
        _format.count,
        _format.kernel,
        _format.number,
        _format.number_range,
        _format.parameter,
        _format.percent,
        _format.plain_percent,
        _format.share_cell,
        _format.short,
        _format.breakable,
        _format.unbroken,
        _format.value_text,
    ):
        environment.filters[function.__name__] = function
    return environment


def _text(name: str) -> str:
    return files("akkm.report").joinpath(name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """Hash by which the content security policy recognises a script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
