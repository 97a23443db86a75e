"""Directives for what is read from the project itself: the command line, the extras and the imports between folders."""

import ast
import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "diverset"
# Modules that every folder may use. Their arrows would cover all others.
SHARED = {"_on_use", "_plain_cython", "_progress", "_typing", "_uncompiled", "errors", "__init__", "__main__"}


class Lines(SphinxDirective):
    """A directive that writes reStructuredText."""

    def run(self):
        """Parse the lines where the directive stands."""
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(self.lines(), "generated"), self.content_offset, node, match_titles=1)
        return node.children


class CommandLine(Lines):
    """The help of the program and of each command, as the program prints it."""

    def lines(self):
        """Give every command a section with its help."""
        from typer.main import get_command
        from typer.testing import CliRunner

        from diverset.cli import app

        found = []
        for name in ["", *get_command(app).commands]:
            asked = [name, "--help"] if name else ["--help"]
            help_text = CliRunner().invoke(app, asked, env={"COLUMNS": "100", "TERM": "dumb"}).output
            title = f"diverset {name}".strip()
            found += [title, "-" * len(title), "", ".. code-block:: text", ""]
            found += [f"   {line.rstrip()}" for line in help_text.strip("\n").splitlines()] + [""]
        return found


class Extras(Lines):
    """A table of the optional dependencies in pyproject.toml, with the comment behind each as its purpose."""

    def lines(self):
        """Give every extra a row."""
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        part = text.split("[project.optional-dependencies]\n")[1].split("\n[")[0]
        rows = re.findall(r"^([\w-]+) = \[(.*)\] # (.+)$", part, re.MULTILINE)
        found = [".. list-table::", "   :header-rows: 1", "   :widths: 34 36 30", ""]
        found += ["   * - install", "     - for", "     - adds"]
        for name, needs, purpose in rows:
            packages = ", ".join(re.findall(r'"([\w-]+)', needs))
            found += [f'   * - ``pip install "diverset[{name}]"``', f"     - {purpose}", f"     - {packages}"]
        return [*found, ""]


def imports():
    """Which folders of the package each folder imports when it is loaded."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part in SHARED:
            continue
        uses = found.setdefault(part, set())
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("diverset"):
                rest = statement.module.split(".")[1:]
                uses |= {rest[0]} if rest else {alias.name for alias in statement.names}
            elif isinstance(statement, ast.Import):
                uses |= {alias.name.split(".")[1] for alias in statement.names if alias.name.startswith("diverset.")}
    return {part: (uses & set(found)) - {part} for part, uses in found.items()}


def reachable(uses, start, without=None):
    """Folders that can be reached from a folder, perhaps without one of its arrows."""
    seen, waiting = set(), [part for part in uses[start] if part != without]
    while waiting:
        part = waiting.pop()
        if part not in seen:
            seen.add(part)
            waiting += uses[part]
    return seen


def draw_imports(path):
    """Draw the folders in rows, each above what it imports; arrows that follow from others are left out."""
    import matplotlib.pyplot as plt

    uses = imports()
    depth = {}
    while len(depth) < len(uses):
        ready = [part for part in uses if part not in depth and uses[part] <= set(depth)]
        # Folders that import each other share a row: take those that wait for the fewest others.
        if not ready:
            waiting = {part: reachable(uses, part) - set(depth) for part in uses if part not in depth}
            ready = [part for part, others in waiting.items() if len(others) == min(map(len, waiting.values()))]
        for part in ready:
            depth[part] = 1 + max((depth[other] for other in uses[part] if other in depth), default=-1)
    rows = [sorted(part for part in depth if depth[part] == row) for row in range(max(depth.values()) + 1)]
    place = {part: ((i + 0.5) / len(row) * 10.0, 1.2 * depth[part]) for row in rows for i, part in enumerate(row)}
    figure, ax = plt.subplots(figsize=(9, 0.95 * len(rows)), layout="constrained")
    for part, others in uses.items():
        for other in others:
            if other in reachable(uses, part, without=other) and part not in reachable(uses, other):
                continue
            (x, y), (x_from, y_from) = place[other], place[part]
            edge = 0.18 if y_from > y else -0.18
            ax.annotate("", (x, y + edge), (x_from, y_from - edge), arrowprops={"arrowstyle": "-|>", "color": "0.5"})
    for part, (x, y) in place.items():
        ax.text(x, y, part, ha="center", va="center", fontsize=10, bbox={"boxstyle": "round", "fc": "#dbe7f3"})
    ax.set(xlim=(0, 10), ylim=(-0.6, 1.2 * len(rows) - 0.6))
    ax.axis("off")
    figure.savefig(path)
    plt.close(figure)


def setup(app):
    """Connect the directives, and draw the picture before pages are read."""
    app.add_directive("diverset-command-line", CommandLine)
    app.add_directive("diverset-extras", Extras)
    app.connect("builder-inited", lambda app: draw_imports(Path(app.srcdir, "images", "import_graph.svg")))
    return {"parallel_read_safe": True}
