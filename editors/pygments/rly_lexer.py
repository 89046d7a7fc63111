# SPDX-License-Identifier: Apache-2.0
"""rly for Pygments: pygmentize -x -l editors/pygments/rly_lexer.py:RlyLexer."""
from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (Comment, Keyword, Name, Number, Operator,
                            Punctuation, String, Whitespace)

__all__ = ["RlyLexer"]

# A number is a part of a name when another name follows.
PATH = r"(?:(?:\.\d+)*\.[A-Za-z_]\w*)*"


class RlyLexer(RegexLexer):
    """Relay's text format with the extensions of rly."""

    name = "rly"
    aliases = ["rly", "relay"]
    filenames = ["*.rly"]

    tokens = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r'"', String, "string"),
            (r"#\[version[^]]*\]", Comment.Preproc),
            (r"#\[metadata\][^$]*", Comment.Preproc),
            (r"@[A-Za-z_]\w*" + PATH, Name.Function),
            (r"%(?:[A-Za-z_][\w/]*" + PATH + r"|\d+)", Name.Variable),
            (r"meta\[[\w.]+\]", Number),
            (r"(?:inf|nan)(?:f(?:16|32|64|8e4m3|8e5m2)?|bf16)\b", Number),
            (r"(\.)(\d+)", bygroups(Punctuation, Number)),
            (r"\.[A-Za-z_]\w*", Name.Attribute),
            (r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
             r"(?:bf16|f8e4m3|f8e5m2|[fiu]\d*)?", Number),
            (r"match\?", Keyword),
            (words(("let", "fn", "def", "type", "extern", "if", "else",
                    "match", "free_var"), suffix=r"\b"), Keyword),
            # These are names where they are called or given a value.
            (r"(?:and|param|import|rule|gradient|when|with|op|where)\b"
             r"(?!\s*[(=.,:)])", Keyword),
            (r"ref(?:_read|_write)?\b(?=\s*\()", Keyword),
            (r"(?:True|False)\b", Keyword.Constant),
            (r"(?:Tensor|Ref|Dim|bool|b?float(?:16|32|64)|"
             r"e4m3_float8|e5m2_float8|u?int(?:4|8|16|32|64))\b",
             Keyword.Type),
            (r"[A-Z]\w*", Name.Class),
            (r"[a-z_]\w*(?=\s*=[^=>])", Name.Attribute),
            (r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", Name),
            (r"[-+*/<>=!&|?^$:]+", Operator),
            (r"[()\[\]{},;.]", Punctuation),
        ],
        "comment": [
            (r"[^*/]+", Comment.Multiline),
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[*/]", Comment.Multiline),
        ],
        "string": [
            (r'[^"\\]+', String),
            (r"\\[0-7]{1,3}|\\x[0-9A-Fa-f]+|\\.", String.Escape),
            (r'"', String, "#pop"),
        ],
    }
