"""Pages of the documentation site that are made from the code, and those of linked files outside `docs/`.

The site begins with the README.
"""

from __future__ import annotations

import argparse
import csv
import re
import runpy
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the program `mkdocs` looks in its own folder only

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from kbench.base import paths
from kbench.cli import arguments
from kbench.selection import backends, examples
from kbench.summary import figures

SOURCE = "source"  # the folder of the site where the linked files are
HOME = "README.md"  # the site's first page
OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    pages = {
        "commands": commands(),
        "columns": columns(),
        "findings": findings(),
        "events": events(),
        "backends": of_backends(),
        "examples": of_examples(),
    }
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    files.append(File.generated(config, "index.md", content=home()))
    written = [file.content_string for file in files.documentation_pages()]
    for linked in sorted({_file(link) for text in written for link, _ in OUTSIDE.findall(text)} - {HOME}):
        files.append(File.generated(config, _page(linked), content=_shown(linked)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """With links to the files' pages in the site."""
    here = page.file.src_uri
    if here.startswith(SOURCE):  # what it links to, the site does not have
        return re.sub(r"\[([^\]]+)\]\((?!http)[^)]*\)", r"\1", markdown)
    return OUTSIDE.sub(lambda link: f"]({_page(_file(link[1]))}{link[2] or ''})", markdown)


def _file(link: str) -> str:
    """The file below the project's root that is linked to; a folder has a README."""
    path = ROOT / link
    return (path / "README.md" if path.is_dir() else path).relative_to(ROOT).as_posix()


def _page(file: str) -> str:
    if file == HOME:
        return "index.md"
    return f"{SOURCE}/{file}" if file.endswith((".md", ".png")) else f"{SOURCE}/{file}.md"


def _shown(file: str) -> str | bytes:
    if file.endswith(".png"):
        return (ROOT / file).read_bytes()
    text = (ROOT / file).read_text("utf-8")
    if file.endswith(".md"):
        return text
    return f"# {Path(file).name}\n\n```{Path(file).suffix[1:]}\n{text}```\n"


def home() -> str:
    """The README, whose links begin at the project's root, as a page of `docs/`."""
    text = (ROOT / HOME).read_text("utf-8")
    return re.sub(r"\]\((?!https?:|#)(docs/)?", lambda link: "](" if link[1] else "](../", text)


def commands() -> str:
    """Each command with its options, as `--help` has them."""
    parts = ["# Commands and options", "`python run.py` stands for `kbench`, where it is installed."]
    for name, command in arguments.commands().items():
        parser = argparse.ArgumentParser(prog=f"python run.py {name}")
        arguments.add_options(parser, name)
        parts += [f"## {name}", command.about]
        for group in parser._action_groups:
            rows = [(_of_option(one), _help(one)) for one in group._group_actions if one.dest != "help"]
            if rows:
                title = group.title or ""
                parts += [] if title in ("options", "positional arguments") else [f"### {name}: {title}"]
                parts.append(_table(("option", "meaning"), rows))
        epilog = arguments.examples_of(name)
        parts.append("```text\n" + epilog.replace("%(prog)s", parser.prog).replace("%%", "%") + "```")
    return "\n\n".join(parts)


def _of_option(action: argparse.Action) -> str:
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    value = action.metavar or choices or action.dest
    names = ", ".join(action.option_strings)
    return f"`{names} {value}`" if names and action.nargs != 0 else f"`{names or value}`"


def _help(action: argparse.Action) -> str:
    return (action.help or "") % {**vars(action), "prog": "python run.py"}


def columns() -> str:
    """Each column of a run's tables, as docs/columns.csv has them, and what printed tables call it."""
    headings = {one.column: ", ".join(one.headings) for one in figures().values() if one.headings}
    with (ROOT / "docs" / "columns.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    parts = ["# Columns"]
    for table in dict.fromkeys(row[0] for row in rows):
        parts.append(f"## {table}")
        shown = headings if table == "summary" else {}
        found = ((f"`{name}`", text, shown.get(name, "")) for of, name, text in rows if of == table)
        parts.append(_table(("column", "meaning", "printed as"), found))
    return "\n\n".join(parts)


def findings() -> str:
    """Each key of a finding and each kind of it, as docs/findings.csv has them."""
    with (ROOT / "docs" / "findings.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    keys = [(f"`{name}`", meaning) for of, name, meaning, _ in rows if of == "key"]
    kinds = [(f"`{name}`", meaning, aspect) for of, name, meaning, aspect in rows if of == "kind"]
    parts = ("# Findings", _table(("key", "content"), keys), _table(("kind", "what was found", "aspect"), kinds))
    return "\n\n".join(parts)


def events() -> str:
    """What a backend's process writes, from its own description."""
    protocol = runpy.run_path(str(paths.GUEST / "kbench_guest" / "protocol.py"))
    for package in sorted((paths.PACKAGE / "features").glob("*/guest/*/__init__.py")):
        protocol["EVENTS"] |= runpy.run_path(str(package)).get("EVENTS", {})
    rows = [
        (f"`{event}`", f"`{name}`", kind.rstrip("?"), "may be missing" if kind.endswith("?") else "")
        for event, fields in protocol["EVENTS"].items()
        for name, kind in fields.items()
    ]
    text = (
        "A backend's process appends its events to `cells/<cell>/events.jsonl` as they happen: one JSON object a "
        "line, with `event`, the event's name, and these fields. Seconds are of the wall clock, memory is in MiB."
    )
    return "\n\n".join(("# Events", text, _table(("event", "field", "type", ""), rows)))


def of_backends() -> str:
    """Each backend's file."""
    parts = ["# Backends", "From the files in `backends/`. `{...}` stands for what kbench fills in."]
    for name, one in backends.load_all(paths.project_folder("backends")).items():
        parts += [f"## {name}", f"{one.title}. Python {' or '.join(one.python)}, {one.image_data_format} on the CPU."]
        parts += [f"It cannot do everything: {one.cannot}."] if one.cannot else []
        rows = [
            (
                f"`{build.name}`",
                build.device,
                " ".join(f"`{asked}`" for asked in (*build.requirements, *build.debian)),
                build.note,
            )
            for build in one.builds
        ]
        parts.append(_table(("build", "device", "asked for", "note"), rows))
        variables = [(f"`{variable}`", f"`{value}`") for variable, value in one.variables.items()]
        parts += [_table(("variable of its processes", "value"), variables)] if variables else []
        explained = [
            (", ".join(each.what), each.layer or each.with_layer or each.optimizer, f"{each.bound:g}", each.reason)
            for each in one.explained
        ]
        head = ("known difference", "of", "at most", "reason")
        parts += [_table(head, explained)] if explained else []
    return "\n\n".join(parts)


def of_examples() -> str:
    """Each example's constants."""
    parts = ["# Examples", "From the files in `examples_models/`."]
    for name, one in examples.load_all(paths.project_folder("examples_models")).items():
        data = "made by the example" if one.own_data else one.data
        parts += [f"## {name}", one.title, f"Data: {data}; batches of {one.batch_size}."]
        rows = [
            (f"`{profile}`", f"{each.samples:,}", f"{each.validation_samples:,}", str(each.epochs))
            for profile, each in one.profiles.items()
        ]
        parts.append(_table(("profile", "samples", "of validation", "epochs"), rows))
    return "\n\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), ["---" for _ in head], *rows]
    return "\n".join(f"| {' | '.join(_in_a_cell(one) for one in line)} |" for line in lines)


def _in_a_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
