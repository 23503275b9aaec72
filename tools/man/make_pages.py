#!/usr/bin/python3
"""Makes the man pages with scdoc: options from `--help`, the keys of world(5) from the JSON Schema, the rest from sections.scd.

usage: make_pages.py BIN_DIRECTORY SOURCE_DIRECTORY OUTPUT_DIRECTORY      writes man1, man5, man7 and man8 there

sections.scd has a part for each page, after a line "== NAME(SECTION) summary". A page of a command needs none.
"""
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import help_text  # noqa: E402
import schema_table  # noqa: E402

PART = re.compile(r"^== (?P<name>[\w-]+)\((?P<section>\d)\) (?P<summary>.+)\n", re.M)
MANUAL = {"1": "otolith commands", "5": "otolith files", "7": "otolith concepts", "8": "otolith programs"}


def escape(text):
    return re.sub(r"([\\*_`#~])", r"\\\1", text)


def fill(paragraphs):
    return "\n\n".join(escape(paragraph) for paragraph in paragraphs)


def write_synopsis(usages):
    """Programs and options bold, what the user replaces underlined."""
    lines = []
    for usage in usages:
        words = [f"*{escape(word)}*" if re.fullmatch(r"[a-z-]+|--[a-z-]+", word)
                 else re.sub(r"[A-Z][A-Z|]*[A-Z]|(?<=\.)[A-Z]+", lambda match: f"_{escape(match[0])}_", escape(word)) for word in usage.split()]
        lines.append(" ".join(words))
    return "# SYNOPSIS\n\n" + "++\n".join(lines) + "\n"


def split_argument(argument):
    """("=", "FILE", ""), or of an optional one ("[=", "NUMBER", "]")."""
    if argument.startswith("[="):
        return "[=", argument[2:-1], "]"
    return argument[:1], argument[1:], ""


def write_option(option):
    names = ", ".join(f"*{escape(name)}*" for name in option.names())
    before, value, after = split_argument(option.argument)
    argument = f"{before}_{escape(value)}_{after}" if value else ""
    return f"{names}{argument}\n\t{escape(option.text)}\n"


def write_options(page, title="OPTIONS", level="#"):
    options = page.own_options()
    return f"{level} {title}\n\n" + "\n".join(map(write_option, options)) if options else ""


def write_header(name, section, summary):
    return f'{name}({section}) "otolith" "{MANUAL[section]}"\n\n# NAME\n\n{name} - {escape(summary)}\n'


def write_help(page):
    description = fill(page.before + page.after)
    return [write_synopsis(page.usages), f"# DESCRIPTION\n\n{description}\n" if description else "", write_options(page)]


def write_subcommand(name, page):
    return f"# {name.upper()}\n\n" + write_synopsis(page.usages).split("\n\n", 1)[1] + f"\n{fill(page.before + page.after)}\n\n" \
        + "\n".join(map(write_option, page.own_options()))


def write_keys(keys):
    blocks = []
    for key in keys:
        facts = [escape(key.accepted), escape(key.unit) and f"unit {escape(key.unit)}",
                 "required" if key.required else escape(key.default) and f"default {escape(key.default)}"]
        blocks.append(f"*{escape(key.path)}*\n\t{escape(key.text)}\n\n\t" + "; ".join(fact for fact in facts if fact) + "\n")
    return "# KEYS\n\n" + "\n".join(blocks)


def read_parts(file):
    """{(name, section): (summary, text)}"""
    text = file.read_text(encoding="utf-8")
    matches = list(PART.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    return {(match["name"], match["section"]): (match["summary"], text[match.end():end].strip("\n"))
            for match, end in zip(matches, ends)}


def split_leading(text):
    """(synopsis and description, the other sections): the generated ones stand between them."""
    match = re.search(r"^# (?!SYNOPSIS|DESCRIPTION)", text, re.M)
    start = match.start() if match else len(text)
    return text[:start], text[start:]


def see_also(name, section):
    pages = [("otolith", "1"), ("world", "5"), ("otolith-plugin", "7")]
    return "# SEE ALSO\n\n" + ", ".join(f"*{page}*({number})" for page, number in pages if (page, number) != (name, section)) + "\n"


def make_pages(binaries, source):
    """{(name, section): text}"""
    parts = read_parts(source / "tools/man/sections.scd")
    pages, commands = {}, help_text.read_commands(binaries)

    def add(name, section, summary, blocks):
        given, text = parts.pop((name, section), ("", ""))
        first, rest = split_leading(text)
        leading = blocks[:1] if blocks and blocks[0].startswith("# SYNOPSIS") else []
        blocks = [block for block in [*leading, first, *blocks[len(leading):], rest, see_also(name, section)] if block]
        pages[name, section] = "\n".join(block.rstrip("\n") + "\n" for block in [write_header(name, section, given or summary)] + blocks)

    rows = "\n".join(f"*{name}*\n\t{escape(summary)}. See *otolith-{name}*(1).\n" for name, summary, _, _ in commands)
    add("otolith", "1", "", ["# SYNOPSIS\n\n*otolith* _COMMAND_ [_OPTION_...]\n", f"# COMMANDS\n\n{rows}"])
    for name, summary, page, subcommands in commands:
        add(f"otolith-{name}", "1", summary, write_help(page) + [write_subcommand(sub, text) for sub, text in subcommands.items()])
    for program in ("otolithd", "otolith-player", "otolith-publisher", "otolith-gate", "otolith-web", "otolith-nats", "otolith-ros2",
                    "otolith-ardupilot", "otolith-px4"):
        if (binaries / program).exists():
            add(program, "8", "", write_help(help_text.read_help(binaries / program)))
        else:
            parts.pop((program, "8"), None)
    add("world", "5", "", [write_keys(schema_table.read_keys(source / "configs/world.schema.json"))])
    for name, section in list(parts):
        add(name, section, "", [])
    return pages


def main():
    binaries, source, output = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(output, ignore_errors=True)
    for (name, section), text in make_pages(binaries, source).items():
        folder = output / f"man{section}"
        folder.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["scdoc"], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if made.returncode != 0:
            sys.exit(f"make_pages.py: {name}({section}): {made.stderr.strip()}\n{text}")
        (folder / f"{name}.{section}").write_text(made.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
