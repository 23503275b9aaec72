"""Turns the scdoc text of a man page into HTML; what tools/man/make_pages.py writes is all that is understood."""
import html
import re

TOKEN = re.compile(r"\\(?P<plain>.)|\*(?P<bold>(?:\\.|[^*\\])+)\*(?P<section>\(\d\))?|_(?P<under>(?:\\.|[^_\\])+)_(?=\W|$)")


def unescape(text):
    return re.sub(r"\\(.)", r"\1", text)


def inline(text, link):
    """`link(name, section)` is the address of a man page, or None."""
    def replace(match):
        if match["plain"]:
            return html.escape(match["plain"])
        if match["bold"]:
            name, section = unescape(match["bold"]), match["section"] or ""
            target = link(name, section.strip("()")) if section else None
            words = f"{html.escape(name)}{section}"
            return f'<a href="{target}">{words}</a>' if target else f"<b>{html.escape(name)}</b>{section}"
        return f"<var>{html.escape(unescape(match['under']))}</var>"

    made, end = [], 0
    for match in TOKEN.finditer(text):
        made += [html.escape(text[end:match.start()]), replace(match)]
        end = match.end()
    return "".join(made) + html.escape(text[end:])


def anchor(title):
    return re.sub(r"[^a-z0-9-]+", "-", title.lower()).strip("-")


def convert(text, link):
    """(title, summary, HTML without the heading of NAME)."""
    lines = text.split("\n")
    name, section = re.match(r"([\w-]+)\((\d)\)", lines[0]).groups()
    summary, made, paragraph, row = "", [], [], 0

    def close():
        if paragraph:
            made.append(f"<p>{inline(' '.join(paragraph).replace('++ ', '<br>'), link).replace('&lt;br&gt;', '<br>')}</p>")
            paragraph.clear()

    row = 1
    while row < len(lines):
        line = lines[row]
        if line.startswith("# "):
            close()
            title = line[2:]
            if title != "NAME":
                made.append(f'<h2 id="{anchor(title)}">{html.escape(title.capitalize())}</h2>')
        elif line.startswith("```"):
            close()
            end = lines.index("```", row + 1)
            code = "\n".join(lines[row + 1:end]).replace("\\\\", "\\")
            made.append(f'<div class="code"><pre><code>{html.escape(code)}</code></pre></div>')
            row = end
        elif row + 1 < len(lines) and lines[row + 1].startswith("\t"):
            close()
            term, body = line, []
            while row + 1 < len(lines) and (lines[row + 1].startswith("\t") or (lines[row + 1] == "" and lines[row + 2:row + 3] and lines[row + 2].startswith("\t"))):
                row += 1
                body.append(lines[row].strip())
            blocks = [f"<p>{inline(block, link)}</p>" for block in "\n".join(body).replace("\n\n", "\0").replace("\n", " ").split("\0")]
            made.append(f'<dl><dt id="{html.escape(anchor(unescape(term)))}">{inline(term, link)}</dt><dd>{"".join(blocks)}</dd></dl>')
        elif line == "":
            close()
        elif line.startswith(f"{name} - "):
            summary = unescape(line.split(" - ", 1)[1])
        else:
            paragraph.append(line)
        row += 1
    close()
    return f"{name}({section})", summary, "\n".join(made)
