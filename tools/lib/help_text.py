"""Parses the output of `--help` of the programs. Man pages and the site print options from this; nothing lists them twice."""
import os
import pathlib
import re
import subprocess

OPTION = re.compile(r"^ +(?:-(?P<short>.)(?P<own>[ =]\S+)?(?:, )?)?(?:--(?P<long>[\w-]+)(?P<argument>\[?=\S+)?)?(?: +(?P<text>.*))?$")
NOTE = "Mandatory or optional arguments to long options"
HELP_OPTIONS = ("help", "usage", "version")


class Option:
    """One row: short (a letter or None), long (a name or None), argument ("=FILE", "[=N]", " N" or ""), text."""

    def __init__(self, short, long, argument, text):
        self.short, self.long, self.argument, self.text = short, long, argument, text

    def names(self):
        return [name for name in (self.short and f"-{self.short}", self.long and f"--{self.long}") if name]


class Help:
    """usages: synopses without "Usage:"; before, after: paragraphs; options: rows; commands: (name, summary) of a program with commands."""

    def __init__(self, text):
        self.usages, self.before, self.after, self.options, self.commands = [], [], [], [], []
        paragraphs = [block.split("\n") for block in re.split(r"\n\s*\n", text.strip("\n"))]
        first = self._take_usages(paragraphs.pop(0))
        if first:
            paragraphs.insert(0, first)
        for lines in paragraphs:
            self._take_paragraph(lines)

    def _take_usages(self, lines):
        """Returns the lines after the synopses."""
        while lines:
            match = re.match(r"(?:[Uu]sage:|  or: ) +(.*)", lines[0])
            if match:
                self.usages += [usage.strip() for usage in re.split(r" {4,}", match[1]) if "lists its" not in usage]
            elif re.match(r" {12,}\S", lines[0]) and self.usages:
                self.usages[-1] += " " + lines[0].strip()
            else:
                break
            lines = lines[1:]
        return lines

    def _take_paragraph(self, lines):
        if re.match(r" +-", lines[0]):
            self._take_options(lines)
        elif re.match(r"  [a-z]", lines[0]):
            self.commands += [tuple(line.split(None, 1)) for line in lines]
        elif not lines[0].startswith(NOTE):
            where = self.after if self.options else self.before
            where.append(" ".join(line.strip() for line in lines))

    def _take_options(self, lines):
        for line in lines:
            match = OPTION.match(line) if re.match(r" {2,8}-", line) else None
            if match:
                self.options.append(Option(match["short"], match["long"], match["argument"] or match["own"] or "", match["text"] or ""))
            else:
                self.options[-1].text = (self.options[-1].text + " " + line.strip()).strip()

    def own_options(self):
        """All but --help and --usage, which every command has."""
        return [option for option in self.options if option.long not in HELP_OPTIONS]


def print_help(program, *arguments):
    """Runs PROGRAM ARGUMENTS --help with lines so long that nothing is wrapped."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "ARGP_HELP_FMT": "rmargin=4000",
                   **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}}
    return subprocess.run([str(program), *arguments, "--help"], env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout


def read_help(program, *arguments):
    return Help(print_help(program, *arguments))


def read_commands(bin_directory):
    """[(name, summary, Help, {name of a subcommand: Help})] of `otolith`, in its own order."""
    program = pathlib.Path(bin_directory) / "otolith"
    rows = []
    for name, summary in read_help(program).commands:
        page = read_help(program, name)
        rows.append((name, summary, page, {sub: read_help(program, name, sub) for sub, _ in page.commands}))
    return rows
