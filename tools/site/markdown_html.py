"""Turns a Markdown page of the tree into HTML: fenced blocks with a title and light colours, GitHub's anchors, links by a callback."""
import html
import re

import markdown

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?: +(?P<word>\S+))?\n(?P<text>.*?)^ *```$", re.S | re.M)
KEYWORDS = {
    "c": "break case const continue default do double else enum for if int return size_t sizeof static struct switch uint32_t "
         "uint64_t int64_t void while bool char",
    "python": "and as class def else except False for from if import in is lambda None not or print raise return True try while with yield",
    "sh": "do done for in if then fi while",
    "cmake": "cmake_minimum_required project find_package",
    "yaml": "true false null",
}
COMMENT = {"c": r"/\*.*?\*/|//[^\n]*|^#[^\n]*", "xml": r"<!--.*?-->"}
HASH_COMMENT = r"(?:(?<=\s)|^)#[^\n]*"
NUMBER = r"(?<![\w.-])-?\d[\w.]*"
KEY = r"|(?P<y>[A-Za-z_][\w./]*(?=: |:$))"
STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''


def colour(text, language):
    """HTML of code: comments, strings, keywords, numbers."""
    words = KEYWORDS.get(language)
    if words is None:
        return html.escape(text)
    comment = COMMENT.get(language, HASH_COMMENT)
    keys = KEY if language == "yaml" else ""
    pattern = re.compile(rf"(?P<c>{comment})|(?P<s>{STRING})|(?P<k>(?<![\w-])(?:{'|'.join(words.split())})\b)|(?P<n>{NUMBER}){keys}", re.S | re.M)
    made, end = [], 0
    for match in pattern.finditer(text):
        made += [html.escape(text[end:match.start()]), f'<span class="{match.lastgroup}">{html.escape(match[0])}</span>']
        end = match.end()
    return "".join(made) + html.escape(text[end:])


def fence_html(language, word, text):
    title = word if word and "." in word else {"output": "prints", "fails": "is refused"}.get(language if language == "output" else word, "")
    head = f'<div class="title">{html.escape(title)}</div>' if title else ""
    kind = "output" if language == "output" else "code"
    return f'<div class="{kind}">{head}<pre><code>{colour(text.rstrip(), language)}</code></pre></div>'


def breakable(table):
    """Long names in a table may be broken after a dot or an underscore."""
    return re.sub(r"(<code>)([^<]{16,})(</code>)", lambda match: match[1] + re.sub(r"([._/])(?=\w)", r"\1<wbr>", match[2]) + match[3], table)


def slugify(value, _separator):
    return re.sub(r"[^\w\- ]", "", value.lower()).replace(" ", "-")


class Page:
    """title, html. `resolve(address)` gives the new address of a link or picture, or None: no link."""

    def __init__(self, text, resolve):
        blocks = []

        def stash(match):
            lines = match["text"].split("\n")
            indent = len(match["indent"])
            blocks.append(fence_html(match["language"], match["word"], "\n".join(line[indent:] for line in lines)))
            return f"{match['indent']}XFENCE{len(blocks) - 1}X"

        converter = markdown.Markdown(extensions=["tables", "sane_lists", "toc"], extension_configs={"toc": {"slugify": slugify}})
        made = converter.convert(FENCE.sub(stash, text))
        made = re.sub(r"(?:<p>)?XFENCE(\d+)X(?:</p>)?", lambda match: blocks[int(match[1])], made)
        made = re.sub(r'<a href="([^"]*)">(.*?)</a>', lambda match: self._link(match, resolve), made, flags=re.S)
        made = re.sub(r'<img alt="([^"]*)" src="([^"]*)" ?/?>', lambda match: self._picture(match, resolve), made)
        made = re.sub(r"<table>.*?</table>", lambda match: f'<div class="table">{breakable(match[0])}</div>', made, flags=re.S)
        self.html = re.sub(r'<h([2-4]) id="([^"]*)">(.*?)</h\1>',
                           r'<h\1 id="\2">\3 <a class="anchor" href="#\2" aria-label="link to this section">#</a></h\1>', made, flags=re.S)
        title = re.search(r"<h1[^>]*>(.*?)</h1>", made, flags=re.S)
        self.title = html.unescape(re.sub(r"<[^>]*>", "", title[1])) if title else ""

    @staticmethod
    def _link(match, resolve):
        target = resolve(html.unescape(match[1]))
        return match[2] if target is None else f'<a href="{html.escape(target)}">{match[2]}</a>'

    @staticmethod
    def _picture(match, resolve):
        target = resolve(html.unescape(match[2]))
        return f'<figure><img alt="{match[1]}" src="{html.escape(target or "")}"><figcaption>{match[1]}</figcaption></figure>'
