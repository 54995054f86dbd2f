"""Print the oldest releases that pyproject.toml declares, as constraints for pip."""

from __future__ import annotations

import re
from pathlib import Path

try:
    import tomllib
except ImportError:
    import tomli as tomllib


def main() -> None:
    """One line per dependency with a lower bound."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    parts = [project["dependencies"], *project["optional-dependencies"].values()]
    found = {}
    for entry in (entry for part in parts for entry in part):
        bound = re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", entry)
        if bound is not None:
            found[bound[1]] = bound[2]
    print("\n".join(f"{name}=={version}" for name, version in sorted(found.items())))


if __name__ == "__main__":
    main()
