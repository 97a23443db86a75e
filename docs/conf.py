"""Sphinx configuration. Nothing here is fetched from a network, neither at build time nor by a reader."""

import inspect
import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from sphinx.util.inspect import stringify_signature

os.environ.setdefault("MPLBACKEND", "agg")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "diverset"
author = "The diverset developers"
copyright = author
release = installed_version("diverset")
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "project_pages",
]

root_doc = "index"
exclude_patterns = ["_build", "auto_examples/**/*.md5", "images/*.rst"]  # tables there are included in pages
templates_path = ["_templates"]
default_role = "code"  # numpydoc writes names of parameters in single backticks
nitpicky = True
suppress_warnings = ["ref.citation"]  # some references are cited only in modules without a page here
# Objects of other libraries: without a network their pages cannot be looked up.
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|np|scipy|matplotlib|rich|typer|pathlib|torch)\..*"),
    (
        r"py:(class|exc|obj|func)",
        r"(ValueError|ImportError|MemoryError|OSError|int|float|bool|str|tuple|list)",
    ),
]

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections carry types and shapes
numpydoc_show_class_members = False  # the template of classes shows members in full

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": ["../examples/use", "../examples/understand", "../examples/mathematics"],
    "capture_repr": (),  # the last line of a cell often makes a Matplotlib object, which says nothing to a reader
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "copyfile_regex": r".*\.(csv|json)$",
}

html_theme = "pydata_sphinx_theme"
html_title = "diverset"
html_static_path = ["_static"]
html_css_files = ["diverset.css"]
html_search_scorer = str(Path(__file__).parent / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}


def _skip_foreign(app, what, name, obj, skip, options):
    """Leave out what classes inherit from other libraries: those texts refer to pages of their own."""
    foreign = ("sklearn.", "torch.", "collections.abc", "_collections_abc")
    return True if (getattr(obj, "__module__", None) or "").startswith(foreign) else None


def _constructor_signature(app, what, name, obj, options, signature, return_annotation):
    """Show the signature of ``__init__`` for a class whose ``__new__`` takes any arguments."""
    if what == "class" and signature == "(*args, **kwargs)":
        return stringify_signature(inspect.signature(obj), show_annotation=False, show_return_annotation=False), None
    return None


def setup(app):
    """Connect what is above."""
    app.connect("autodoc-skip-member", _skip_foreign)
    app.connect("autodoc-process-signature", _constructor_signature)
