"""Sphinx configuration: `make docs` builds the site into build/docs."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# `site_parts` holds what this site adds to Sphinx.
sys.path.insert(0, str(HERE / "_ext"))

import site_parts  # noqa: E402

import soffit  # noqa: E402

project = "soffit"
author = "The soffit developers"
copyright = "the soffit developers"
release = version = soffit.__version__

# The gallery comes before autosummary: pages of the API list the examples that use a name.
extensions = [
    "sphinx_gallery.gen_gallery",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx.ext.viewcode",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "names",
    "see_also",
    "site_parts",
]
root_doc = "index"
exclude_patterns = ["_templates", "_ext", "auto_examples/**/*.ipynb", "reproduction/*.md"]
templates_path = ["_templates"]
# `name` in a docstring is a link if it is the name of something here, and code if not.
default_role = "py:obj"
toc_object_entries_show_parents = "hide"
# The cache keeps no functions (autosummary_context).
suppress_warnings = ["config.cache"]
# Every reference must lead somewhere (`names` says what a name in a docstring may be). Names of
# other libraries do not: their pages are not fetched while the site is built.
nitpicky = True
nitpick_ignore = [
    ("py:obj", name)
    for name in (
        *("BaseEstimator.set_params", "GridSearchCV", "set_output"),
        *("sklearn.callback.FitCallback", "sklearn.callback.ProgressBar", "joblib.parallel_config"),
    )
]

# --- pages ----------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4
# Formulas are MathML, made while the site is built: nothing is fetched when a page is read.
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# --- API reference --------------------------------------------------------------------------------

autosummary_generate = True
autosummary_imported_members = True
autosummary_context = {"own_members": site_parts.own_members, "is_used": site_parts.is_used}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# --- gallery --------------------------------------------------------------------------------------

# Examples must not warn: a warning there is one that a reader would get.
warnings.filterwarnings("ignore", category=FutureWarning)
sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "subsection_order": site_parts.GROUPS,
    "backreferences_dir": "auto_examples/backreferences",
    "doc_module": ("soffit",),
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "site_parts.reset_style"),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    # Times of the machine that built the site tell readers nothing.
    "min_reported_time": 1_000_000,
    # As many at a time as Sphinx has processes (-j).
    "parallel": True,
    "plot_gallery": os.environ.get("SOFFIT_DOCS_GALLERY", "1") != "0",
    "inspect_global_variables": True,
}

# --- appearance -----------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"soffit {release}"
html_static_path = ["_static"]
html_css_files = ["soffit.css"]
html_js_files = ["soffit.js"]
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "soffit"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "github-dark-high-contrast",
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "start": [], "auto_examples/**": ["sidebar-nav-bs"]}
