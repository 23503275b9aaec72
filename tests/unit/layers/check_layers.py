#!/usr/bin/python3
"""Fails when a file includes a header that the table in ARCHITECTURE.md does not allow, and when shared code names a plugin.

usage: check_layers.py SOURCE_DIRECTORY

Three rules:
  1. Every #include between two folders is an arrow of the table "Allowed includes" in ARCHITECTURE.md.
  2. That table has no cycle.
  3. No string literal and no identifier of server/ or clients/libotolith/ names a plugin of plugins/.

KNOWN and KNOWN_NAMES list the violations that still exist. The test fails on a violation that is not listed and on a
listed one that no longer exists, so the lists can only shrink.
"""

import pathlib
import re
import sys

# (file, folder that it must not include)
KNOWN = set()

# (file, name of a plugin)
KNOWN_NAMES = set()

TABLE_HEADING = "## Allowed includes"
ROOTS = ("server", "clients", "plugins", "include")
# Folders that a quoted include may start from, besides the folder of the file; they are the -I options of the build.
SEARCH = ("include", "server", "clients", "clients/libotolith", "clients/cli", "plugins/common", "plugins")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(otolith/[^>]+)>)', re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def folder_of(path):
    """The folder of the table that a file belongs to: the first two parts of its path."""
    return "/".join(path.split("/")[:2])


def read_table(page):
    """Row by row: folder -> set of folders that it may include. `plugins/*` stands for every plugin's folder."""
    if TABLE_HEADING not in page:
        sys.exit(f"ARCHITECTURE.md has no section '{TABLE_HEADING}'")
    section = page.split(TABLE_HEADING, 1)[1].split("\n## ", 1)[0]
    table = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) < 2 or not cells[0].startswith("`"):
            continue
        for folder in re.findall(r"`([^`]+)`", cells[0]):
            table[folder] = set(re.findall(r"`([^`]+)`", cells[1]))
    return table


def row_of(table, folder):
    if folder in table or not folder.startswith("plugins/"):
        return folder
    return "plugins/*"


def find_cycle(table):
    """One cycle of the table as a list of folders, or None."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return None
        path.append(folder)
        for target in sorted(table.get(folder, ())):
            cycle = visit(target)
            if cycle:
                return cycle
        path.pop()
        done.add(folder)
        return None

    for folder in sorted(table):
        cycle = visit(folder)
        if cycle:
            return cycle
    return None


def resolve(source, path, include, files):
    """The file that an include names, or None for a header that is not in the tree."""
    own = path.rsplit("/", 1)[0]
    for start in (own, folder_of(path)) + SEARCH:
        candidate = (source / start / include).resolve()
        if candidate.is_relative_to(source):
            name = candidate.relative_to(source).as_posix()
            if name in files:
                return name
    return None


def check_includes(source, files, table, problems):
    found = set()
    for path, text in files.items():
        folder = folder_of(path)
        row = row_of(table, folder)
        if row not in table:
            problems.append(f"{path}: the folder {folder} has no row in the table of ARCHITECTURE.md")
            continue
        for quoted, angled in INCLUDE.findall(text):
            include = quoted or angled
            target = resolve(source, path, include, files)
            if target is None:
                problems.append(f"{path}: the include {include} is not found in the tree; use <> for system headers")
                continue
            other = folder_of(target)
            if other in table[row] or other == folder:
                continue
            found.add((path, other))
            if (path, other) not in KNOWN:
                problems.append(f"{path}: includes {target}, but {folder} may not include {other}")
    return found


def plugin_names(source):
    return sorted(entry.name for entry in (source / "plugins").iterdir()
                  if entry.is_dir() and entry.name not in ("common", "template", "motion_models"))


def names_plugin(name, code):
    """A name with an underscore counts anywhere; a plain word (`magnetometer`) only where it follows the word plugin."""
    if "_" in name:
        return re.search(rf"(?<![a-z0-9]){name}(?![a-z0-9])", code) is not None
    return re.search(rf"plugin[^a-z0-9]{{1,3}}{name}\b", code) is not None


def check_names(source, files, problems):
    found = set()
    names = plugin_names(source)
    for path, text in files.items():
        if not path.startswith(("server/", "clients/libotolith/")) or path.startswith("clients/libotolith/examples/"):
            continue
        code = INCLUDE.sub("", COMMENT.sub(" ", text))
        for name in names:
            if not names_plugin(name, code):
                continue
            found.add((path, name))
            if (path, name) not in KNOWN_NAMES:
                problems.append(f"{path}: names the plugin {name}; let the plugin's descriptor say what is special about it")
    return found


def check_known(known, found, name, problems):
    for entry in sorted(known - found):
        problems.append(f"{name} lists {entry}, which no longer exists: remove the entry")
    for path, what in sorted(known & found):
        print(f"known: {path} -> {what}")


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    files = {entry.relative_to(source).as_posix(): entry.read_text(encoding="utf-8")
             for root in ROOTS for entry in sorted((source / root).rglob("*.[ch]"))}
    table = read_table((source / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    problems = []
    cycle = find_cycle(table)
    if cycle:
        problems.append("the table of ARCHITECTURE.md has a cycle: " + " -> ".join(cycle))
    check_known(set(KNOWN), check_includes(source, files, table, problems), "KNOWN", problems)
    check_known(set(KNOWN_NAMES), check_names(source, files, problems), "KNOWN_NAMES", problems)
    for problem in problems:
        print(problem)
    print(f"{len(files)} files, {len(KNOWN) + len(KNOWN_NAMES)} known violations, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
