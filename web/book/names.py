#!/usr/bin/env python3
"""Prints what the Python package offers as Markdown: names.py FOLDER.

Signatures are those of __init__.pyi, what is said of them is the doc strings of
the sources beside it."""
import ast
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
stubs = ast.parse((folder / "__init__.pyi").read_text())

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def definitions(body):
    return [node for node in body if isinstance(node, DEFINITIONS)]


def said_of(body, prefix=""):
    """Doc strings by dotted name."""
    for node in definitions(body):
        name = prefix + node.name
        if text := ast.get_docstring(node):
            yield name, text
        if isinstance(node, ast.ClassDef):
            yield from said_of(node.body, name + ".")


said = {}
for path in sorted(folder.glob("*.py")):
    for name, text in said_of(ast.parse(path.read_text()).body):
        said.setdefault(name, text)
said.update(said_of(stubs.body))

shown = next(ast.literal_eval(node.value) for node in stubs.body
             if isinstance(node, ast.Assign)
             and node.targets[0].id == "__all__")


def signature(node):
    lines = ast.unparse(node.args)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({lines}){result}"


def hidden(name):
    return name.startswith("_") and name not in ("__init__", "__call__")


def show(heading, code, name):
    print(f"{heading}\n\n```python\n{code}\n```\n")
    if name in said:
        print(said[name] + "\n")


def show_class(node):
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    show(f"## {node.name}", f"class {node.name}" + (f"({bases})" if bases else ""),
         node.name)
    for part in definitions(node.body):
        if hidden(part.name):
            continue
        kind = [ast.unparse(d) for d in part.decorator_list]
        code = "".join(f"@{d}\n" for d in kind) + "def " + signature(part)
        show(f"### `{node.name}.{part.name}`", code, f"{node.name}.{part.name}")


print("# The names of the Python package\n")
print("What `import rly` brings, as its type stubs declare it.\n")
nodes = {node.name: node for node in definitions(stubs.body)}
for name in shown:
    node = nodes.get(name)
    if isinstance(node, ast.ClassDef):
        show_class(node)
    elif node:
        show(f"## {name}", "def " + signature(node), name)
