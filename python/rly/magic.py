# SPDX-License-Identifier: Apache-2.0
"""Cells of rly in IPython, among those of Python:

    %load_ext rly
    %%rly
    def @twice(%x: Tensor[(?), float32]) { %x + %x }

    rly_program.twice(np.ones(3, "float32"))

`%%rly` adds a cell to the program `rly_program`, shows the values of its
expressions, and takes the commands of notebook.py; `%rly EXPR` gives the value
of an expression to Python."""
import sys

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.display import display

from ._library import Error
from .notebook import Notebook


def show(forms):
    """Text alone is written, for an output cell would put quotes around it."""
    if set(forms) == {"text/plain"}:
        print(forms["text/plain"])
    else:
        display(forms, raw=True)


@magics_class
class RlyMagics(Magics):
    def __init__(self, shell):
        super().__init__(shell)
        self.notebook = Notebook(sys.stdout.write, show)
        # What rly_program.NAME(...) calls has the cells of the notebook.
        self.notebook.program._session = self.notebook.session
        shell.push({"rly_program": self.notebook.program})

    @cell_magic("rly")
    def cell(self, line, text):
        try:
            self.notebook.run(text)
        except Error as error:
            print(error, file=sys.stderr)

    @line_magic("rly")
    def value(self, line):
        return self.notebook.value_of(line)


def load_ipython_extension(shell):
    shell.register_magics(RlyMagics)
