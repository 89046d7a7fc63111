# SPDX-License-Identifier: Apache-2.0
"""rly: a typed functional language for tensors, from Python.

    >>> import numpy as np, rly
    >>> p = rly.program("def @main(%x: Tensor[(?), float32]) { %x * 2f }")
    >>> p.main(np.array([1, 2.5], "float32"))
    array([2., 5.], dtype=float32)

`load` reads a file and binds its params; `program` takes a text.  A program's
functions are Python functions; `Program.session` gives sessions with a state of
their own.  _values.py says which value becomes what."""
from ._library import (Error, Interrupted, LimitError, Misuse, Refused,
                       RunError, lib, text_of)
from ._program import Program, Session
from ._tools import Attribute, Found, Operator, Place, format, operators
from ._values import Data, Function, Value

__version__ = text_of(lib.rly_version())
__all__ = ["Attribute", "Data", "Error", "Found", "Function", "Interrupted",
           "LimitError", "Misuse", "Operator", "Place", "Program", "Refused",
           "RunError", "Session", "Value", "format", "load", "operators",
           "program"]


def load(path, params=None, copy=True, **options):
    """The program of a file.  `params`: a file of tensors, or a mapping of
    names to arrays.  The options are those of Program."""
    made = Program(**options).add_file(path)
    return made.bind(params, copy) if params is not None else made


def program(text, params=None, copy=True, **options):
    """The program of a text."""
    made = Program(**options).add(text)
    return made.bind(params, copy) if params is not None else made


def load_ipython_extension(shell):
    """%load_ext rly"""
    from .magic import load_ipython_extension as load_magics
    load_magics(shell)
