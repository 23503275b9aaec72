"""Pages of the site that are made from the public C headers and from the docstrings of the Python package: Markdown text by name."""
import ast
import re

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
SECTION = re.compile(r"^/\* -{4} (.*?) -{4,} \*/\n", re.M)


def comment_text(comment):
    """The words of a C comment, without its border."""
    return re.sub(r"\n[ \t]*\*?[ \t]*", "\n", comment).strip()


def first_sentence(text):
    return re.split(r"(?<=[.;])\s", " ".join(text.split()), maxsplit=1)[0].rstrip(".;")


def declarations(text):
    """What a header declares: without guards, includes and the border for C++."""
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif.*\n", "", text, flags=re.M | re.S)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"^#(include|ifndef OTOLITH_\w+_H|define OTOLITH_\w+_H$|endif$).*\n", "", text, flags=re.M)).strip()


def header_page(name, intro, rest):
    parts = SECTION.split(rest)
    sections = [("Declarations" if len(parts) == 1 else "Types", parts[0]), *zip(parts[1::2], parts[2::2])]
    page = f"# otolith/{name}\n\n{intro}\n\n"
    for title, text in sections:
        code = declarations(text)
        if code:
            page += f"## {title[:1].upper()}{title[1:]}\n\n```c\n{code}\n```\n\n"
    return page


def make_headers(source):
    pages, rows = {}, ""
    for file in sorted(source.glob("include/otolith/*.h")):
        text = file.read_text(encoding="utf-8")
        opening = COMMENT.search(text)
        intro = comment_text(opening[1])
        pages[f"c/{file.stem}"] = header_page(file.name, intro, text[opening.end():])
        rows += f"| [`{file.name}`](ref:c/{file.stem}) | {first_sentence(intro)} |\n"
    pages["c"] = ("# C headers\n\nThe public headers, as they stand in `include/otolith`. `plugin.h` is for plugins, `client.h` for programs that read and control a "
                  "running world, `sim.h` for programs that run worlds themselves. [Rules of all headers](src:include/otolith/README.md).\n\n"
                  f"| header | what it is |\n|---|---|\n{rows}")
    return pages


def signature(function):
    arguments = ast.unparse(function.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    return f"({arguments})" + (f" -> {ast.unparse(function.returns)}" if function.returns else "")


def describe_function(function, title):
    text = ast.get_docstring(function) or ""
    return f"```python\n{title}{signature(function)}\n```\n\n{text}\n\n"


def describe_class(node):
    members = [member for member in node.body if isinstance(member, ast.FunctionDef)]
    made = next((describe_function(member, node.name) for member in members if member.name == "__init__"), "")
    fields = [f"`{member.target.id}`: {ast.unparse(member.annotation)}" for member in node.body if isinstance(member, ast.AnnAssign)]
    text = f"## {node.name}\n\n{made}{ast.get_docstring(node) or ''}\n\n" + (f"Fields: {', '.join(fields)}.\n\n" if fields else "")
    for member in members:
        kinds = [ast.unparse(decorator) for decorator in member.decorator_list]
        if (member.name.startswith("_") and member.name != "__getitem__") or "overload" in kinds:
            continue
        title = f"{member.name} (property)" if "property" in kinds else member.name
        body = f"{ast.get_docstring(member) or ''}\n\n" if "property" in kinds else describe_function(member, f"{node.name}.{member.name}")
        text += f"### {node.name}.{title}\n\n{body}"
    return text


def make_python(source):
    """Each name of __all__, in its order, from the sources: nothing is imported."""
    package = source / "clients/python/otolith"
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in sorted(package.glob("*.py"))]
    nodes = {node.name: node for tree in trees for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    names = next(ast.literal_eval(node.value) for tree in trees for node in tree.body
                 if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    text = ("# Python reference\n\n`import otolith`: the classes and functions, from their docstrings. [How to use them](src:clients/python/README.md) has examples; "
            "the shortest way in is [read samples in Python](src:tools/site/pages/howto/read-python.md).\n\n")
    for name in names:
        node = nodes.get(name)
        if isinstance(node, ast.ClassDef):
            text += describe_class(node)
        elif node is not None:
            text += f"## {name}\n\n" + describe_function(node, name)
    return {"python": text}
