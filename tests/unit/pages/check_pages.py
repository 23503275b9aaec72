#!/usr/bin/python3
"""Checks the pages of the tree: citations of decisions, links, and the words of GLOSSARY.md.

usage: check_pages.py SOURCE_DIRECTORY

  1. Every citation of a decision (A9) in *.c, *.h, *.py and *.md has a heading in ARCHITECTURE.md.
  2. Every relative link of every *.md leads to a file, and its anchor to a heading of that file.
  3. No phrase of the table "Phrases that a test refuses" in GLOSSARY.md stands in *.c, *.h, *.py or *.md.
"""

import os
import pathlib
import re
import sys

SKIPPED_FOLDERS = {".git", "build", "__pycache__", "node_modules"}
# Files whose A1 to A28 are rows of the reference table of the MAVS sensors, not decisions.
MAVS_FILES = ("plugins/mems_imu/README.md", "plugins/common/README.md")
# The history keeps its words; the glossary and this test name the phrases.
WORDS_EXEMPT = ("CHANGELOG.md", "GLOSSARY.md", "tests/unit/pages/check_pages.py")

CITATION = re.compile(r"(?<![A-Za-z0-9_`-])A(\d{1,2})(?![A-Za-z0-9_])")
MAVS_ROWS = re.compile(r"\b[Rr]ows?:? A\d{1,2}(?:(?:, | and | to |–|-)A\d{1,2})*")
DECISION = re.compile(r"^### A(\d{1,2})\. ", re.M)
LINK = re.compile(r"!?\[[^\]\n]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.S | re.M)
PHRASE_HEADING = "## Phrases that a test refuses"


def find_files(source, suffixes):
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            if name.endswith(suffixes):
                yield pathlib.Path(folder, name)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def anchors_of(text):
    """The anchors of a page's headings, as GitHub makes them."""
    anchors = set()
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number, anchor = 0, slug
        while anchor in anchors:
            number += 1
            anchor = f"{slug}-{number}"
        anchors.add(anchor)
    anchors.update(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    return anchors


def check_citations(pages, problems):
    if "ARCHITECTURE.md" not in pages:
        problems.append("ARCHITECTURE.md is not there")
        return
    decisions = set(DECISION.findall(pages["ARCHITECTURE.md"]))
    for path, text in pages.items():
        if path in MAVS_FILES or path == "CHANGELOG.md":
            continue
        text = MAVS_ROWS.sub(lambda match: " " * len(match.group()), text)
        for match in CITATION.finditer(text):
            if match.group(1) not in decisions:
                problems.append(f"{path}:{line_of(text, match.start())}: A{match.group(1)} is no decision of ARCHITECTURE.md")


def check_links(source, pages, problems):
    for path, text in pages.items():
        if not path.endswith(".md"):
            continue
        blank = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
        blank = re.sub(r"`[^`\n]*`", lambda match: "_" * len(match.group()), blank)
        for match in LINK.finditer(blank):
            target = match.group(1)
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            where = f"{path}:{line_of(text, match.start())}"
            file = (source / path).parent / name if name else source / path
            if not file.exists():
                problems.append(f"{where}: the link {target} leads to no file")
            elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text(encoding="utf-8")):
                problems.append(f"{where}: {target} names no heading of {file.name}")


def read_phrases(page):
    """The first column of the table: the phrases, as regular expressions that take any white space and comment border."""
    section = page.split(PHRASE_HEADING, 1)[1].split("\n## ", 1)[0]
    phrases = []
    for line in section.splitlines():
        if line.startswith("|") and "`" in line:
            phrases += re.findall(r"`([^`]+)`", line.split("|")[1])
    return phrases


def phrase_pattern(phrase):
    words = [re.escape(word) for word in phrase.split()]
    return re.compile(r"\b" + r"(?:\s|\n\s*\*|\n\s*//|\n\s*#)+".join(words) + r"\b", re.I)


def check_words(pages, problems):
    phrases = [(phrase, phrase_pattern(phrase)) for phrase in read_phrases(pages["GLOSSARY.md"])]
    for path, text in pages.items():
        if path in WORDS_EXEMPT:
            continue
        for phrase, pattern in phrases:
            for match in pattern.finditer(text):
                problems.append(f"{path}:{line_of(text, match.start())}: '{phrase}' is refused by GLOSSARY.md")
    return len(phrases)


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    pages = {file.relative_to(source).as_posix(): file.read_text(encoding="utf-8")
             for file in find_files(source, (".c", ".h", ".py", ".md"))}
    problems = []
    check_citations(pages, problems)
    check_links(source, pages, problems)
    phrases = check_words(pages, problems)
    for problem in problems:
        print(problem)
    print(f"{len(pages)} files, {phrases} refused phrases, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
