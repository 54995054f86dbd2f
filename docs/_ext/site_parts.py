"""What the site adds to Sphinx: pages of the API, formulas as MathML, the style of figures."""

from __future__ import annotations

import importlib
import inspect
import re
import types
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

SOURCE = Path(__file__).resolve().parents[1]
# Groups of the gallery, in the order in which they are shown.
GROUPS = [
    f"../examples/gallery/{name}"
    for name in (
        *("first_steps", "uncertainty", "parameters", "knowledge", "tables", "graphs", "images"),
        *("text", "biology", "scale", "papers"),
    )
]
# Public modules that `soffit` does not list, since only their names matter.
OTHER_MODULES = ("exceptions",)
SECTIONS = {"class": "Classes", "function": "Functions", "data": "Data"}


logger = logging.getLogger(__name__)


# --- API reference --------------------------------------------------------------------------------


def public_names() -> dict[str, dict[str, Any]]:
    """Every public module with its public names; a name is listed where it is shortest."""
    import soffit

    top = {name: getattr(soffit, name) for name in soffit.__all__ if not name.startswith("_")}
    modules = [name for name, value in top.items() if isinstance(value, types.ModuleType)]
    found = {"soffit": {n: v for n, v in top.items() if not isinstance(v, types.ModuleType)}}
    for name in sorted([*modules, *OTHER_MODULES]):
        module = importlib.import_module(f"soffit.{name}")
        listed = getattr(module, "__all__", None) or [
            n
            for n, value in vars(module).items()
            if not n.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
        values = {n: getattr(module, n) for n in sorted(listed)}
        shown = found["soffit"]
        found[f"soffit.{name}"] = {n: v for n, v in values.items() if shown.get(n) is not v}
    return {module: names for module, names in found.items() if names}


def kind_of(value: Any) -> str:
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "data"


def write_api_pages(app: Sphinx, config: Any) -> None:
    """Write one page per public module, with a table of its names."""
    folder = SOURCE / "api"
    folder.mkdir(exist_ok=True)
    names = public_names()
    for module, values in names.items():
        doc = (importlib.import_module(module).__doc__ or "").strip().split("\n")[0]
        lines = [module, "=" * len(module), "", doc, "", f".. currentmodule:: {module}", ""]
        for kind, title in SECTIONS.items():
            own = [name for name, value in values.items() if kind_of(value) == kind]
            if own:
                lines += [title, "-" * len(title), "", ".. autosummary::"]
                lines += ["   :toctree: generated", "", *(f"   {name}" for name in own), ""]
        _write(folder / f"{module}.rst", "\n".join(lines))


def _write(path: Path, text: str) -> None:
    """Write only what changed, so that Sphinx does not read it again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def own_members(module: str, name: str, members: list[str]) -> list[str]:
    """Methods and properties that soffit defines, not those of scikit-learn or Python."""
    cls = getattr(importlib.import_module(module), name)
    return [member for member in members if _is_own(cls, member)]


def _is_own(cls: type, member: str) -> bool:
    # scikit-learn adds methods such as `set_fit_request` to every estimator.
    if member.startswith("_") or member.endswith("_request"):
        return False
    for base in cls.__mro__:
        if member in vars(base):
            value = inspect.unwrap(
                getattr(vars(base)[member], "fget", None) or getattr(cls, member)
            )
            return base.__module__.startswith("soffit") and bool(inspect.getdoc(value))
    return False


def is_used(fullname: str) -> bool:
    """Whether an example of the gallery uses this name."""
    path = SOURCE / "auto_examples" / "backreferences" / f"{fullname}.examples"
    return path.exists() and bool(path.read_text(encoding="utf-8").strip())


# --- formulas -------------------------------------------------------------------------------------


def _mathml(tex: str, *, block: bool = False) -> str:
    """MathML of a formula; for what docutils does not know, its nearest relative."""
    known = re.sub(r"\\[bB]ig+[lr]?\s*([(\[{|]|\\\{)", r"\\left\1", tex)
    known = re.sub(r"\\[bB]ig+[lr]?\s*([)\]}]|\\\})", r"\\right\1", known)
    known = re.sub(r"\\[bB]ig+(?![a-z])", "", known)
    known = re.sub(r"\\textstyle(?![a-z])", "", known)
    # One digit or letter each, without braces: \frac12, \tfrac1n.
    known = re.sub(r"\\[td]?frac\s*([0-9a-z])\s*([0-9a-z])", r"\\frac{\1}{\2}", known)
    known = re.sub(r"\\dots(?![a-z])", r"\\ldots", known)
    try:
        return str(tex2mathml(known, as_block=block))
    except MathError as problem:
        logger.warning("formula %r: %s", tex, problem)
        return f"<code>{escape(tex)}</code>"


def visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


# --- figures of the gallery -----------------------------------------------------------------------

STYLE = {
    "figure.figsize": (6.4, 4.0),
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "image.cmap": "viridis",
}


def reset_style(gallery_conf: dict[str, Any], fname: str) -> None:
    """Give every example the same style; colours can be told apart by the colour-blind."""
    import matplotlib as mpl
    from cycler import cycler

    from soffit.figures.style import PALETTE

    mpl.rcParams.update(STYLE | {"axes.prop_cycle": cycler(color=list(PALETTE))})


# --- reports --------------------------------------------------------------------------------------


def write_reports(app: Sphinx, exception: Exception | None) -> None:
    """Reports to try, beside the pages."""
    if exception is not None or app.builder.format != "html":
        return
    import networkx
    from sklearn.datasets import load_digits, load_wine

    from soffit import SoftClustering

    folder = Path(app.outdir) / "reports"
    folder.mkdir(exist_ok=True)
    wine, digits = load_wine(as_frame=True), load_digits(as_frame=True)
    novel = networkx.les_miserables_graph()
    for name, data, k, title, more in (
        ("wine", wine.data, 3, "178 wines", {"truth": wine.target}),
        ("digits", digits.data, 10, "1797 handwritten digits", {"truth": digits.target}),
        ("miserables", novel, None, "The characters of Les Misérables", {}),
    ):
        model = SoftClustering(k, random_state=0).fit(data)
        table = None if data is novel else data
        model.report(folder / f"{name}.html", table, title=title, **more)


def setup(app: Sphinx) -> dict[str, Any]:
    # Before Sphinx looks for pages: autosummary reads those that were found.
    app.connect("config-inited", write_api_pages)
    app.connect("build-finished", write_reports)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
