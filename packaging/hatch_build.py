"""Fills in what a release needs to know of addresses: links of the package, and of its README.

The README links to files of the repository, which works in every checkout. A package index shows
the README alone, so there the same links lead to the site and to the repository. Both addresses
stand in pyproject.toml, under [tool.hatch.metadata.hooks.custom], and nowhere else in the code.
"""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

# Of Markdown, `](target)`, and of a picture beside text, `src="target"`.
_LINK = re.compile(r"""(?P<before>\]\(|\bsrc=")(?!https?://|#)(?P<target>[^)"\s]+)(?=[)"])""")


def absolute(target: str, site: str, source: str) -> str:
    """Where a file of the repository is shown: pages on the site, all else in the repository."""
    page = re.fullmatch(r"docs/([\w/]+)\.md(#[\w-]+)?", target)
    if page:
        return f"{site}{page[1]}.html{page[2] or ''}"
    example = re.fullmatch(r"examples/gallery/(\w+/plot_\w+)\.py", target)
    if example:
        return f"{site}auto_examples/{example[1]}.html"
    if target == "examples/gallery":
        return f"{site}auto_examples/index.html"
    if target.endswith(".png"):
        return f"{source.replace('github.com', 'raw.githubusercontent.com')}/main/{target}"
    return f"{source}/blob/main/{target}"


def with_absolute_links(text: str, site: str, source: str) -> str:
    """A README whose links to files of the repository are addresses."""
    return _LINK.sub(lambda link: f"{link['before']}{absolute(link['target'], site, source)}", text)


class Addresses(MetadataHookInterface):
    """Adds the README with absolute links and the links of the project."""

    def update(self, metadata: dict) -> None:
        """Add both to the metadata of the package."""
        site, source = self.config["site"], self.config["source"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = with_absolute_links(text, site, source)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        changes = f"{source}/blob/main/CHANGELOG.md"
        metadata["urls"] = {"Documentation": site, "Source": source, "Changelog": changes}
