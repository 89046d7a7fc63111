# SPDX-License-Identifier: Apache-2.0
"""For tools that show programs: the formatter, what stands at a place of a text,
the table of operators."""
from typing import NamedTuple

from ._library import (Misuse, bytes_of, failure, ffi, lib, path_of, take_text,
                       text_of)

KINDS = {getattr(lib, f"RLY_FOUND_{word.upper()}"): word
         for word in ("expression", "variable", "global", "type",
                      "constructor", "operator")}


class Place(NamedTuple):
    """Lines and columns from 1; columns count code points, and the end is just
    after the text."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Found(NamedTuple):
    """What stands at a place.  `name` is None of an expression, `type` of a data
    type, `declared` of what no text declares."""

    kind: str
    name: "str | None"
    type: "str | None"
    place: Place
    declared: "Place | None"


class Attribute(NamedTuple):
    """`words` are the strings that it may be, or None: any.  `default` is None,
    too, where it is required."""

    name: str
    type: str
    required: bool
    optional: bool
    expression: bool
    words: "tuple[str, ...] | None"
    default: object


class Operator(NamedTuple):
    """A row of the table of operators.  `fails` tells why a call may fail at run
    time although it was checked: "divisor", "empty", "index", "data"."""

    name: str
    aliases: "tuple[str, ...]"
    signature: str
    type: str
    doc: str
    formula: "str | None"
    example: str
    shows: "str | None"
    gradient: "str | None"
    fails: "str | None"
    prints: bool
    random: bool
    attributes: "tuple[Attribute, ...]"


def place_of(place):
    return Place(text_of(place.file), place.line, place.column, place.end_line,
                 place.end_column) if place.file else None


def format(text, path="<text>"):
    """The text as `rly fmt` lays it out.  It is parsed, not checked."""
    context = ffi.gc(lib.rly_context_new(ffi.NULL), lib.rly_context_free)
    data = bytes_of(text)
    out = ffi.new("char **")
    status = lib.rly_text_format(context, path_of(path), data, len(data),
                                 out)
    if status != lib.RLY_OK:
        raise failure(status, context)
    return take_text(context, out[0])


def find(program, path, line, column):
    found, type_text = ffi.new("rly_found *"), ffi.new("char **")
    if not lib.rly_program_find(program.handle, path_of(path), line, column,
                                found, type_text):
        return None
    return Found(KINDS[found.kind], text_of(found.name),
                 take_text(program.context, type_text[0]),
                 place_of(found.place), place_of(found.declared))


def _default(a):
    if a.none or a.required:
        return None
    one = {"int": int, "int or ints": int, "bool": bool}
    kind = text_of(a.type)
    if kind in one:
        return one[kind](a.integer)
    if kind == "float":
        return a.real
    if kind in ("string", "dtype"):
        return text_of(a.text) or ""
    numbers = a.reals if kind == "floats" else a.integers
    return tuple(numbers[i] for i in range(a.count))


def _attribute(i, k):
    a = ffi.new("rly_attribute *")
    if not lib.rly_operator_attribute(i, k, a):
        raise Misuse(text_of(lib.rly_misuse()))
    words = text_of(a.words)
    return Attribute(text_of(a.name), text_of(a.type), a.required, a.optional,
                     a.expression, tuple(words.split("|")) if words else None,
                     _default(a))


def operators():
    """The table of operators, in the order of `rly ops`."""
    context = ffi.gc(lib.rly_context_new(ffi.NULL), lib.rly_context_free)
    row, table = ffi.new("rly_operator_row *"), []
    while lib.rly_operator_get(len(table), row):
        i = len(table)
        signature = take_text(context, lib.rly_operator_signature(context, i))
        table.append(Operator(
            text_of(row.name), tuple((text_of(row.aliases) or "").split()),
            signature, *(text_of(getattr(row, part)) for part in (
                "type", "doc", "formula", "example", "shows", "gradient",
                "fails")),
            row.prints, row.random,
            tuple(_attribute(i, k) for k in range(row.attribute_count))))
    return table
