# SPDX-License-Identifier: Apache-2.0
"""The C library: where it is, what rly.h declares, and errors as exceptions.

The declarations are read from rly.h itself, so that nothing is written twice.
librly.so and rly.h are looked for, in this order: what RLY_LIBRARY and
RLY_HEADER name; beside this file, as in a wheel; in the tree of a build; where
the system keeps libraries and headers.  cffi's ABI mode needs no compiler, and
lets go of Python's lock while a function of the library runs."""
import ctypes
import ctypes.util
import os
import re
import threading
from pathlib import Path
from typing import Any

import cffi

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent


def _first(named, candidates, what):
    if named in os.environ:
        return os.environ[named]
    for path in candidates:
        if path and (os.path.exists(path) or os.sep not in str(path)):
            return str(path)
    raise ImportError(f"rly: {what} is not found; {named} may name it")


def _declarations(header):
    """What of the header a parser of plain C declarations reads."""
    text = Path(header).read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = text.replace('extern "C" {', "")
    lines, inside = [], 0
    for line in text.splitlines():
        if re.match(r"\s*#\s*ifdef __cplusplus", line):
            inside = 1
        elif inside and re.match(r"\s*#\s*endif", line):
            inside = 0
        elif not inside and not line.lstrip().startswith("#"):
            lines.append(line)
    return "\n".join(lines)


HEADER = _first("RLY_HEADER", [HERE / "rly.h", TREE / "include/rly.h",
                               "/usr/local/include/rly.h",
                               "/usr/include/rly.h"], "rly.h")
LIBRARY = _first("RLY_LIBRARY", [HERE / "librly.so",
                                 TREE / "build/release/librly.so",
                                 ctypes.util.find_library("rly")],
                 "librly.so")

ffi = cffi.FFI()
ffi.cdef(_declarations(HEADER))
lib: Any = ffi.dlopen(LIBRARY)


def text_of(chars):
    """A borrowed C string, or None."""
    return ffi.string(chars).decode() if chars else None


def take_text(context, chars):
    """An owned C string, which is released, or None."""
    text = text_of(chars)
    lib.rly_text_free(context, chars)
    return text


def chars_of(text):
    """A name, or what else C takes as a string, which ends at a NUL."""
    if not isinstance(text, str):
        raise TypeError(f"a text is wanted, not {text!r}")
    if "\0" in text:
        raise ValueError(f"embedded null byte: {text!r}")
    return text.encode()


def path_of(path):
    data = os.fsencode(path)
    if b"\0" in data:
        raise ValueError(f"embedded null byte: {path!r}")
    return data


def bytes_of(text):
    """A program's text, which may have a NUL."""
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"a text is wanted, not {text!r}")
    return text.encode() if isinstance(text, str) else bytes(text)


def lasting(callback):
    """Keeps a callback for good: what still lives when Python ends is freed then,
    when modules have lost their names.  So it finds what it uses in defaults."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(callback))
    return callback


# --- Errors -------------------------------------------------------------------

class Error(Exception):
    """What rly reports.  Its text has the lines of the source with carets.

    `diagnostics` is a list of dicts with "code", "message", "place" and more,
    as `rly --json` prints them."""

    def __init__(self, text, diagnostics=()):
        super().__init__(text)
        self.diagnostics = list(diagnostics)

    @property
    def codes(self):
        return [d.get("code") for d in self.diagnostics]


class Refused(Error, ValueError):
    """A text, a file or an argument was refused; nothing ran."""


class RunError(Error, RuntimeError):
    """A run-time error: a failed match, a division by zero, a wrong shape."""


class LimitError(Error, MemoryError):
    """Memory, depth, steps or time were used up."""


class Interrupted(Error):
    """The run was stopped by Session.interrupt."""


class Misuse(Error, RuntimeError):
    """A call that makes no sense: a session at work in another thread."""


KINDS = {lib.RLY_REFUSED: Refused, lib.RLY_RUNTIME: RunError,
         lib.RLY_LIMIT: LimitError, lib.RLY_INTERRUPTED: Interrupted,
         lib.RLY_INCOMPLETE: Refused, lib.RLY_MISUSE: Misuse}


# --- What callbacks raise ---------------------------------------------------------

# What callbacks of this thread raised, which is kept until the call that they
# belong to has returned: `error` is the cause of a run's error, `own` comes
# through as it is where the call fails.
raised = threading.local()

# The same, by thread, of callbacks that cannot fail: it comes through in any case.
# No thread-local, as each call looks whether there is any.
kept: dict[int, BaseException] = {}


def take_raised(name):
    """What was kept by that name, once; or None."""
    error = getattr(raised, name, None)
    setattr(raised, name, None)
    return error


def raise_kept():
    error = kept.pop(threading.get_ident(), None)
    if error is not None:
        raise error


def forget_raised():
    """Of a call that Ctrl-C ended otherwise."""
    kept.pop(threading.get_ident(), None)
    take_raised("error")
    take_raised("own")


def callback(signature, stops=()):
    """A callback that gives nothing.  What it raises, Ctrl-C included, is kept for
    the call to raise; the sessions `stops`, a list of handles that may be filled
    later, are stopped, and it is called no more by that call."""
    def decorate(function):
        def run(*arguments):
            if not stops or threading.get_ident() not in kept:
                function(*arguments)

        def keep(_kind, error, _trace):
            kept[threading.get_ident()] = error
            for session in stops:
                lib.rly_session_interrupt(session)
        return ffi.callback(signature, run, onerror=keep)
    return decorate


def failure(status, context, session=None):
    """The exception for a status, with what was reported, which is cleared."""
    import json
    if status == lib.RLY_MISUSE:
        return Misuse(text_of(lib.rly_misuse()))
    if session:
        text = lib.rly_session_diagnostics_text(session, False)
        lines = lib.rly_session_diagnostics_json(session)
        lib.rly_session_diagnostics_clear(session)
    else:
        text = lib.rly_diagnostics_text(context, False)
        lines = lib.rly_diagnostics_json(context)
        lib.rly_diagnostics_clear(context)
    text, lines = take_text(context, text), take_text(context, lines)
    own = take_raised("own")
    own = kept.pop(threading.get_ident(), own)
    if own is not None:
        return own
    diagnostics = [json.loads(line) for line in (lines or "").splitlines()]
    name = text_of(lib.rly_status_name(status))
    return KINDS[status]((text or name).rstrip(), diagnostics)


# --- The log --------------------------------------------------------------------

LEVELS = {lib.RLY_LOG_ERROR: "error", lib.RLY_LOG_WARNING: "warning",
          lib.RLY_LOG_INFO: "info"}


def attach_log(context, log, level):
    """Entries go to log(level, message, diagnostic).  Gives what must live as
    long as the context."""
    levels = {name: number for number, name in LEVELS.items()}

    @callback("void(void *, const rly_log_entry *)")
    def write(_, entry):
        d, parts = entry.diagnostic, None
        if d:
            place = d.place
            parts = {"code": text_of(d.code), "hint": text_of(d.hint),
                     "file": text_of(place.file), "line": place.line,
                     "column": place.column}
        log(LEVELS[entry.level], text_of(entry.message), parts)
    status = lib.rly_context_set_log(context, ffi.new(
        "rly_log *", {"write": write, "most": levels[level]}))
    if status != lib.RLY_OK:
        raise failure(status, context)
    return write
