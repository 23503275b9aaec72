#!/usr/bin/python3
"""usage: test_manual.py BIN_DIR SOURCE_DIR MAN_DIR

Man pages: every program and command has one, with exactly the options that --help has. Without MAN_DIR's pages (no scdoc) it skips.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

BIN, SOURCE, MAN = (pathlib.Path(argument) for argument in sys.argv[1:4])


def help_of(*arguments):
    return subprocess.run([str(BIN / arguments[0]), *arguments[1:], "--help"], capture_output=True, text=True, check=True).stdout


def names_in_help(text):
    """Names in the left column of --help, found without the parser that the pages are made with."""
    names = set()
    for line in text.splitlines():
        column = re.match(r" {2,6}(-[^ ].*?)(?:  |$|(?<=[\]A-Z}…]) )", line)
        if column:
            names.update(re.findall(r"(?<![\w-])--[a-z-]+|(?<![\w-])-[A-Za-z](?![a-z])", column[1]))
    return names - {"--help", "--usage", "--version", "-V"}


def read(name, section):
    return (MAN / f"man{section}" / f"{name}.{section}").read_text(encoding="utf-8").replace("\\&", "")


def names_in_page(text):
    """Names in bold at the beginning of a row of options."""
    rows = [line for line in text.replace("\\-", "-").splitlines() if re.match(r"\\fB-{1,2}[A-Za-z]", line)]
    return {name for row in rows for name in re.findall(r"\\fB(-{1,2}[A-Za-z][a-z-]*)\\fR", row)}


class Pages(unittest.TestCase):
    def setUp(self):
        if not MAN.is_dir():
            self.skipTest("the man pages are not built: there was no scdoc")

    def commands(self):
        return re.findall(r"^  ([a-z]+) ", help_of("otolith"), re.M)

    def test_every_command_has_a_page_with_the_options_of_its_help(self):
        commands = self.commands()
        self.assertGreater(len(commands), 30)
        for name in commands:
            text = help_of("otolith", name)
            for subcommand in re.findall(r"^  ([a-z]+) ", text, re.M) if name == "model" else []:
                text += help_of("otolith", name, subcommand)
            self.assertEqual(names_in_page(read(f"otolith-{name}", 1)), names_in_help(text), name)

    def test_every_program_has_a_page_with_the_options_of_its_help(self):
        programs = {file.name for file in [BIN / "otolithd", *BIN.glob("otolith-*")]} - {"otolith-bench", "otolith-plugin-host"}
        self.assertLessEqual({"otolithd", "otolith-publisher", "otolith-gate", "otolith-player"}, programs)
        for name in sorted(programs):
            self.assertEqual(names_in_page(read(name, 8)), names_in_help(help_of(name)), name)
        self.assertIn("isolation: process", read("otolith-plugin-host", 8))

    def test_the_overview_lists_every_command(self):
        page = read("otolith", 1).replace("\\-", "-")
        self.assertEqual([name for name in self.commands() if f"otolith-{name}\\fR(1)" not in page], [])

    def test_world_5_has_every_key_of_the_schema(self):
        page, missing = read("world", 5), []

        def visit(schema):
            for name, child in schema.get("properties", {}).items():
                if not re.search(rf"^\\fB(?:[\w.\[\]]*\.)?{name}\\fR$", page.replace("\\-", "-").replace("\\_", "_"), re.M):
                    missing.append(name)
                visit(child)
            for child in [schema.get("items"), *schema.get("anyOf", [])]:
                if isinstance(child, dict):
                    visit(child)

        visit(json.loads((SOURCE / "configs/world.schema.json").read_text()))
        self.assertEqual(missing, [])

    def test_the_plugin_page_has_every_operation_of_the_header(self):
        header = (SOURCE / "include/otolith/plugin.h").read_text()
        operations = re.findall(r"\(\*(\w+)\)\(", header.split("struct oto_plugin_ops {")[1].split("\n};")[0])
        self.assertIn("step", operations)
        self.assertEqual([name for name in operations if f"\\fB{name}\\fR" not in read("otolith-plugin", 7)], [])

    def test_man_renders_every_page_without_a_warning(self):
        if shutil.which("man") is None:
            self.skipTest("there is no man")
        for page in sorted(MAN.glob("man*/*")):
            done = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, text=True,
                                  env=dict(os.environ, LC_ALL="C.UTF-8", MANROFFSEQ="", MANPAGER="cat"))
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
