"""The classes of the characters of files, by Pygments: paths on stdin, and for
each a line of K keyword, N number, S string, C comment, E error, `.` other."""
import sys

sys.path.insert(0, "editors/pygments")
from pygments.token import Comment, Error, Keyword, Number, String
from rly_lexer import RlyLexer

CLASSES = [(Keyword.Type, "."), (Keyword.Constant, "N"), (Keyword, "K"),
           (Number, "N"), (String, "S"), (Comment, "C"), (Error, "E")]

lexer = RlyLexer(stripnl=False, ensurenl=False)
for path in sys.stdin.read().split("\n")[:-1]:
    line = ""
    for _, token, text in lexer.get_tokens_unprocessed(open(path).read()):
        line += next((c for t, c in CLASSES if token in t), ".") * len(text)
    print(line)
