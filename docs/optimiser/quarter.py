"""A pass of rly opt --exec: from the text of a program to another.

x / 4f becomes x * 0.25f: both round the same number, since 4 is a power of two.
"""
import re
import sys

print(re.sub(r"/ 4f\b", "* 0.25f", sys.stdin.read()), end="")
