# SPDX-License-Identifier: Apache-2.0
"""Cells of rly in notebooks: what the kernel and IPython's magics share.

A Notebook is a program that grows cell by cell, and a session that runs it.  A
cell holds definitions and expressions, or one command:

    :type EXPR     the type of an expression, which is not evaluated
    :doc NAME      what a name is
    :plot EXPR     a vector, or each row of a matrix, as a line
    :step          the newest cell as rly's stepper shows it (needs `rly`)
    :state         the cells, and what they hold
    :reset         the cells hold again what they did at first"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

import numpy as np

from ._library import (LIBRARY, Refused, chars_of, failure, ffi, lib, take_text,
                       text_of)
from ._program import Program, Session

COLOURS = "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"
NAME = re.compile(r"[@%:]?[A-Za-z_][\w.]*$|[@%:]$")


def svg_lines(series, width=480, height=240):
    """Series of numbers as lines, with the least and the greatest value."""
    series = [np.asarray(s, "float64") for s in series]
    finite = [s[np.isfinite(s)] for s in series]
    joined = np.concatenate(finite) if finite else np.zeros(0)
    low, high = (joined.min(), joined.max()) if joined.size else (0.0, 1.0)
    span = high - low or 1.0
    most = max((len(s) for s in series), default=1)
    parts = []
    for i, s in enumerate(series):
        x = np.arange(len(s)) * (width - 20) / max(most - 1, 1) + 10
        y = height - 20 - (s - low) / span * (height - 40)
        drawn, pen = [], "M"
        for at, to in zip(x, y):  # a NaN leaves a gap
            if np.isfinite(to):
                drawn.append(f"{pen}{at:.1f} {to:.1f}")
            pen = "L" if np.isfinite(to) else "M"
        parts.append(f'<path d="{" ".join(drawn)}" fill="none" '
                     f'stroke="{COLOURS[i % len(COLOURS)]}"/>')
    text = 'font-size="11" font-family="sans-serif" fill="gray"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" role="img">{"".join(parts)}'
            f'<text x="4" y="12" {text}>{high:.6g}</text>'
            f'<text x="4" y="{height - 6}" {text}>{low:.6g}</text></svg>')


class Notebook:
    """`write` receives what programs print, `show` a result: a dict from a MIME
    type to its form."""

    def __init__(self, write, show, program=None):
        self.program = program or Program()
        self.session = Session(self.program, write=write)
        self.show, self.texts = show, []
        self.commands = {name[8:]: getattr(self, name)
                         for name in dir(type(self))
                         if name.startswith("command_")}

    # Cells

    def run(self, text, number=0):
        """Runs a cell.  `number` names its results: %_3, and %it."""
        command = re.match(r"\s*:(\w+)[ \t]*(.*?)\s*\Z", text, re.S)
        if command:
            name, rest = command.groups()
            if name not in self.commands:
                raise ValueError(f"no command :{name}; there are " + ", ".join(
                    f":{known}" for known in sorted(self.commands)))
            return self.commands[name](rest)
        self.add(text, number)
        self.texts.append(text)
        shown = []

        def show(value):
            if not lib.rly_value_is_unit(value):
                shown.append(value_text(self.session, value))
                self.show({"text/plain": shown[-1]})
        self.session._run(show)
        return shown[-1] if shown else None

    def add(self, text, number):
        p, data = self.program, text.encode()
        lib.rly_program_number(p.handle, number)
        p.check(lib.rly_program_add_text(
            p.handle, f"[{number}]".encode(), data, len(data),
            lib.RLY_NAME_RESULTS | lib.RLY_RECHECK))

    def value_of(self, text):
        """The value of an expression, in Python's terms."""
        self.add(text, 0)
        made = self.session.run()
        if not made:
            raise ValueError("an expression is wanted")
        return made[-1]

    # Commands

    def command_type(self, text):
        data = text.encode()
        made = take_text(self.program.context, lib.rly_program_type_of(
            self.program.handle, data, len(data)))
        if made is None:
            raise failure(lib.RLY_REFUSED, self.program.context)
        self.show({"text/plain": made})

    def command_doc(self, name):
        text = self.doc(name)
        if text is None:
            raise ValueError(f"there is nothing of the name {name}")
        self.show({"text/plain": text})

    def command_plot(self, text):
        array = np.asarray(self.value_of(text))
        if array.dtype.kind not in "fiub" or array.ndim not in (1, 2):
            raise ValueError("a vector or a matrix of numbers is wanted")
        lines = [array] if array.ndim == 1 else list(array)
        self.show({"image/svg+xml": svg_lines(lines),
                   "text/plain": f"{len(lines)} line(s) of {array.shape[-1]}"})

    def command_state(self, _):
        self.show({"text/plain": "\n".join(
            f"{path} : {kind} = {self.cell(path)}"
            for path, kind in self.session.state.paths().items())
            or "there are no cells"})

    def cell(self, path):
        handle = lib.rly_session_get(self.session.handle, chars_of(path))
        if not handle:
            raise self.session.failure()
        return value_text(self.session, ffi.gc(handle, lib.rly_value_free))

    def command_reset(self, _):
        self.session.reset()

    def command_step(self, _):
        if not self.texts:
            raise ValueError("no cell was run yet")
        beside = os.path.join(os.path.dirname(LIBRARY), "rly")
        found = beside if os.access(beside, os.X_OK) else shutil.which("rly")
        if not found:
            raise ValueError("the program `rly` is not found")
        with tempfile.TemporaryDirectory() as folder:
            source, page = f"{folder}/cells.rly", f"{folder}/steps.html"
            with open(source, "w", encoding="utf-8") as out:
                out.write(self.script())
            done = subprocess.run([found, "step", "--html", page, source],
                                  capture_output=True, text=True)
            if done.returncode:
                raise ValueError(done.stderr.strip())
            with open(page, encoding="utf-8") as made:
                html = made.read()
        inside = html.replace("&", "&amp;").replace('"', "&quot;")
        self.show({"text/html": f'<iframe srcdoc="{inside}" width="100%" '
                                'height="480"></iframe>',
                   "text/plain": "the stepper's page"})

    def script(self):
        """All cells as one text.  An expression that ends a cell needs a `;`,
        which behind a definition is an error: so each is tried."""
        script = ""
        for text in self.texts:
            for end in "", "\n;":
                try:
                    Program().add(f"{script}{text}{end}\nlet %_ = 0;")
                    script += f"{text}{end}\n"
                    break
                except Refused as error:
                    refused = error
            else:
                raise refused
        return script

    # For editors

    def doc(self, name):
        return self.program._doc(name)

    def names(self):
        found, i = list(self.program.names), 0
        while name := text_of(lib.rly_operator_name(i)):
            found.append(name)
            i += 1
        return found + [f":{name}" for name in self.commands]

    def complete(self, text):
        """What the end of a text may go on as, and where that end begins."""
        end = NAME.search(text)
        if not end:
            return [], len(text)
        return (sorted(name for name in set(self.names())
                       if name.startswith(end.group())), end.start())

    def unfinished(self, text):
        data = text.encode()
        return bool(lib.rly_text_unfinished(self.program.handle, data + b"\0",
                                            len(data)))


def value_text(session, handle):
    """As the prompt shows it."""
    return take_text(session.context, lib.rly_value_text(handle))


def interruptible(session, work):
    """Runs `work` on a thread of its own, so that this one, the main thread,
    hears Ctrl-C: then the session is interrupted, and `work` ends by itself.
    No exception can come from a signal at a place where it would leave `work`
    running, as the signal has a handler meanwhile."""
    done, interrupted, result = threading.Event(), threading.Event(), []

    def run():
        try:
            result.append((work(), None))
        except BaseException as error:  # handed on below
            result.append((None, error))
        done.set()

    before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    try:
        threading.Thread(target=run, daemon=True).start()
        while not done.wait(0.05):
            if interrupted.is_set():  # again, where no run had begun
                session.interrupt()
    finally:
        signal.signal(signal.SIGINT, before)
    value, error = result[0]
    if error is not None and interrupted.is_set():
        raise KeyboardInterrupt from error
    if error is not None:
        raise error
    return value
