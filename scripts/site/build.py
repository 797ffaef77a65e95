"""Builds the documentation as a static site: the guides and an API reference, readable from a disk without a network.

    python scripts/site/build.py [folder]       # build/site/html unless given; needs scripts/site/requirements.txt

Warnings of Sphinx are errors, and so are links inside the site that lead nowhere and anything that a page would load
from elsewhere.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import links  # noqa: E402
import reference  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
GUIDES = (
    "profiler",
    "mindprof",
    "distributed",
    "npu",
    "differences-from-pytorch",
    "programs",
    "overhead",
    "onednn",
    "architecture",
    "adding-an-op",
    "adding-a-device",
    "trace-format",
    "store-format",
    "dependencies",
)
INDEX = """# mindtorch_v2

```{{include}} README.md
:start-line: 2
```

```{{toctree}}
:hidden:
:caption: Guides

{guides}
```

```{{toctree}}
:hidden:
:caption: Reference

reference/index
```

```{{toctree}}
:hidden:
:caption: Project

CONTRIBUTING
CHANGELOG
SECURITY
```
"""


def stage(source: pathlib.Path) -> None:
    """Puts all pages into one folder, in the layout of the repository so that links between them hold."""
    shutil.rmtree(source, ignore_errors=True)
    (source / "docs").mkdir(parents=True)
    (source / "reference").mkdir()
    for page in [*(ROOT / name for name in PAGES), *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        _copy_linked_files(page, text, source)
        (source / page.relative_to(ROOT)).write_text(_without_links_to_folders(page, text), encoding="utf-8")
    for name, text in reference.pages().items():
        (source / "reference" / f"{name}.md").write_text(text, encoding="utf-8")
    ordered = [name for name in GUIDES if (ROOT / "docs" / f"{name}.md").exists()]
    ordered += sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem not in GUIDES)
    (source / "index.md").write_text(
        INDEX.format(guides="\n".join(f"docs/{name}" for name in ordered)), encoding="utf-8"
    )
    shutil.copy(ROOT / "src" / "mindtorch_v2" / "_version.py", source / "VERSION")
    shutil.copy(pathlib.Path(__file__).parent / "conf.py", source)


def _copy_linked_files(page: pathlib.Path, text: str, source: pathlib.Path) -> None:
    """Files of the repository that a page links to and that are not pages, such as the examples."""
    for target in re.findall(r"\]\(([^)\s#]+)\)", text):
        found = (page.parent / target).resolve()
        if "://" not in target and found.is_file() and found.suffix != ".md" and ROOT in found.parents:
            copy = source / found.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, copy)


def _without_links_to_folders(page: pathlib.Path, text: str) -> str:
    """A folder of the repository is not a page: its name stays, the link goes."""

    def plain(found: re.Match[str]) -> str:
        return found[1] if (page.parent / found[2]).is_dir() else found[0]

    return re.sub(r"\[([^\]]+)\]\(([^)\s#]+)\)", plain, text)


def main() -> int:
    """Builds and checks; the exit code says whether the site is whole."""
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site" / "html").resolve()
    source = out.parent / "source"
    stage(source)
    shutil.rmtree(out, ignore_errors=True)
    code = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-b",
            "html",
            "-W",
            "--keep-going",
            "-q",
            "-j",
            "auto",
            "-d",
            str(out.parent / "doctrees"),
            str(source),
            str(out),
        ]
    ).returncode
    wrong = links.problems(out) if code == 0 else []
    for line in wrong:
        print(line, file=sys.stderr)
    if not code and not wrong:
        print(f"{len(list(out.rglob('*.html')))} pages: open {out / 'index.html'}")
    return code or int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
