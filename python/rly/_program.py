# SPDX-License-Identifier: Apache-2.0
"""Programs, their functions, and sessions that run them."""
import contextlib
import inspect
import math
import os
import re
import select
import signal
import threading
import time
import weakref
from collections.abc import MutableMapping

import numpy as np

from . import _files
from . import _operator as operators
from . import _tools
from . import _values as values
from ._library import (Error, Misuse, attach_log, bytes_of, callback,
                       chars_of, failure, ffi, forget_raised, kept, lib,
                       path_of, raise_kept, take_raised, take_text, text_of)

MISUSE, TENSOR, NULL = lib.RLY_MISUSE, lib.RLY_TENSOR, ffi.NULL
call_arrays = lib.rly_session_call_arrays
from_buffer, ndarray = ffi.from_buffer, np.ndarray

# --- Ctrl-C -----------------------------------------------------------------------


class _Watch:
    """Stops the main thread's run at Ctrl-C.

    Python only notes a signal while a function of a library runs.  But its
    handler in C also writes a byte to a file, from which a thread of ours
    reads; and rly_session_interrupt may be called from any thread.  Then the
    run returns, and Python raises KeyboardInterrupt.

    `running` is a list of the Session that the main thread runs, made anew for
    each run, or None.  A byte is taken together with the run that it is for, so
    that none stops the next run."""

    def __init__(self):
        self.running = None
        self.started = False
        self.taking = threading.Lock()

    def start(self):
        if (self.started or
                threading.current_thread() is not threading.main_thread()):
            return
        self.started = True
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        if before != -1:  # an event loop has it
            signal.set_wakeup_fd(before)
            os.close(read)
            os.close(write)
            return
        self.files = read, write
        threading.Thread(target=self.watch, args=(read,), daemon=True).start()

    def take(self):
        """The signals that came, and the run that is under way."""
        with self.taking:
            try:
                return os.read(self.files[0], 64), self.running
            except BlockingIOError:
                return b"", None

    def watch(self, read):
        while select.select([read], [], []):
            data, run = self.take()
            # Again and again, as the run may be about to begin.
            while signal.SIGINT in data and run and self.running is run:
                lib.rly_session_interrupt(run[0].handle)
                time.sleep(0.01)

    def drop(self):
        """Drops the bytes of signals that came while a run ended early or while a
        callback raised: Python's own handlers deal with these signals."""
        while hasattr(self, "files") and self.take()[0]:
            pass

    def forget(self):
        """In a child of fork, which has no thread of ours."""
        self.taking = threading.Lock()
        if self.started:
            self.started, self.running = False, None
            if hasattr(self, "files"):
                signal.set_wakeup_fd(-1)
                for file in self.files:
                    os.close(file)
                del self.files


_watch = _Watch()
os.register_at_fork(after_in_child=_watch.forget)


_main = threading.main_thread().ident


def _watched(session, function, *arguments):
    """Calls a function of the library that runs the session."""
    if threading.get_ident() != _main:
        return function(*arguments)
    if not _watch.started:
        _watch.start()
    before, _watch.running = _watch.running, [session]
    status = None
    try:
        # After a call Python raises what a signal asked for that came too early
        # for the thread to see this run.  One that comes later, it sees.
        threading.get_ident()
        status = function(*arguments)
        return status
    finally:
        _watch.running = before
        if status != 0 or kept:
            _watch.drop()


# --- Programs -----------------------------------------------------------------------

class Namespace:
    """The classes of a program's constructors, as attributes."""

    def __init__(self, find, found):
        self._find, self._found = find, found

    def __getattr__(self, name):
        found = None if name.startswith("__") else self._find(name)
        if found is None:
            raise AttributeError(f"no constructor {name} was met yet")
        return found

    def __dir__(self):
        self._find("")  # meets all that there are
        return [*super().__dir__(), *self._found]


def _is_written(made, text):
    """How much of a class is in the definition of its type?  First the type's
    name, then the labels."""
    return (re.match(rf"\s*type\s+{made._data_type}\b", text) is not None,
            sum(1 if re.search(rf"\b{label}\s*:", text) else -1
                for k, label in enumerate(made._fields) if label != f"_{k}"))


class Program:
    """A checked program.  Its functions are attributes: program.main(x).

    They run in a session of the program's own; `session()` gives others, each
    for one thread at a time.

    `files` is a mapping of paths to bytes or texts, which are read in place of
    the system's files: programs, imports, tensors, states.  What is written then
    goes into it.

    `log(level, message, diagnostic)` is given errors and warnings as they are
    reported, and with log_level="info" what was added, read and written;
    `diagnostic` is None then, else a dict of code, hint, file, line, column.  It
    may be called on any thread, and may not use the program."""

    def __init__(self, *, files=None, threads=1, max_memory=0, max_depth=0, max_steps=0,
                 timeout=0.0, safe=False, nan_stop=False, strict=False,
                 log=None, log_level="warning"):
        options = ffi.new("rly_options *", {
            "threads": threads, "max_memory": max_memory,
            "max_depth": max_depth, "max_steps": max_steps,
            "timeout": timeout, "safe": safe, "nan_stop": nan_stop,
            "strict": strict})
        context = lib.rly_context_new(options)
        if not context:
            raise Misuse(text_of(lib.rly_misuse()))
        self.context = ffi.gc(context, lib.rly_context_free)
        if files is not None:
            self._files = _files.attach(self.context, files)
        if log is not None:
            self._log = attach_log(self.context, log, log_level)
        self.handle = ffi.gc(lib.rly_program_new(self.context),
                             lib.rly_program_free)
        if not self.handle:
            raise failure(lib.RLY_LIMIT, self.context)
        self._types = {}
        # The classes of constructors that were met, by name, in order; and
        # whether a text has come since all that there are were looked for.
        self._found, self._changed = {}, True
        self._operators, self._closures, self._grads = [], {}, {}
        self._session = None
        self._sessions, self._lock = weakref.WeakSet(), threading.RLock()
        self._change_lock, self._changer = threading.Lock(), None
        self.data = Namespace(self._find_class, self._found)

    # Texts and bindings

    def check(self, status):
        if status != lib.RLY_OK:
            raise failure(status, self.context)
        self._changed = True
        take_raised("own")  # of a file that could be done without
        if kept:
            raise_kept()

    # Changes that a call makes, of which its caller may know nothing

    def _is_run_by(self, thread, but=None):
        with self._lock:
            return any(s.turn.owner == thread for s in self._sessions
                       if s is not but)

    @contextlib.contextmanager
    def changing(self, session=None):
        """For the thread that adds what a call in the session needs: `_change`
        waits for the runs of other threads then, and runs that begin wait."""
        me = threading.get_ident()
        if self._is_run_by(me, but=session):
            raise Misuse("this is a callback of a run of the program, which "
                         "cannot be changed now: ask for a derivative, or give a "
                         "function of Python of this type, once before the run")
        with self._change_lock:
            self._changer = me
            try:
                yield
            finally:
                self._changer = None

    def _change(self, function, *arguments):
        """The status of a function of the library that changes the program."""
        status = function(*arguments)
        while (status == MISUSE and self._changer == threading.get_ident()
               and "at work" in text_of(lib.rly_misuse())):
            time.sleep(0.001)
            status = function(*arguments)
        return status

    def wait_for_change(self):
        """For a run that is to begin.  At most a second, as a run that the change
        waits for may itself wait for this one, by a callback."""
        if (not self._is_run_by(threading.get_ident())
                and self._change_lock.acquire(timeout=1)):
            self._change_lock.release()

    def add(self, text, path="<text>"):
        """Adds definitions and expressions."""
        data = bytes_of(text)
        self.check(self._change(lib.rly_program_add_text, self.handle,
                                path_of(path), data, len(data), 0))
        return self

    def add_file(self, path):
        self.check(lib.rly_program_add_file(self.handle, path_of(path), 0))
        return self

    def operator(self, signature, *, gradient=None, effect=False, shape=None):
        """A decorator: the function computes an operator of later texts.

            @p.operator("op @double[n: Dim](%x: Tensor[(n), float32])"
                        " -> Tensor[(n), float32]")
            def double(x):
                return x + x

        It takes and gives arrays; several results are a tuple.  `gradient`
        is its derivative as a text, `shape(*operands)` the result's shape where
        the signature has a `?`, of several results the shapes of all.
        With `effect`, no call is dropped, repeated or moved."""
        def decorate(function):
            self._operators.append(operators.add(
                self, signature, function, gradient, effect, shape))
            return function
        return decorate

    def bind(self, params=None, copy=True, **named):
        """Binds params: a mapping of names to arrays, or a file's path.  With
        copy=False arrays are borrowed and must not change."""
        if params is not None and not hasattr(params, "items"):
            self.check(lib.rly_program_bind_file(self.handle,
                                                 path_of(params)))
            params = {}
        for name, value in {**(params or {}), **named}.items():
            chars = chars_of(name)
            tensor = values.tensor_to_c(self.context, value,
                                        self._param_dtype(name), copy)
            status = lib.rly_program_bind_param(self.handle, chars,
                                                tensor)
            lib.rly_tensor_free(tensor)
            self.check(status)
        return self

    def _param_dtype(self, name):
        """As the library calls it; NULL: it is no tensor's, or no param's."""
        p = self.handle
        for i in range(lib.rly_program_param_count(p)):
            if text_of(lib.rly_program_param_name(p, i)) == name:
                return lib.rly_type_dtype(lib.rly_program_param_type(p, i))
        return NULL

    @property
    def params(self):
        """What the program declares: name, type, dtype, default, bound."""
        p = self.handle
        return [{"name": text_of(lib.rly_program_param_name(p, i)),
                 "type": self.text_of_type(lib.rly_program_param_type(p, i)),
                 "dtype": text_of(lib.rly_type_dtype(
                     lib.rly_program_param_type(p, i))),
                 "default": lib.rly_program_param_has_default(p, i),
                 "bound": lib.rly_program_param_is_bound(p, i)}
                for i in range(lib.rly_program_param_count(p))]

    # Functions

    @property
    def names(self):
        """All names in scope as rly writes them: "@f", "Cons", ..."""
        found = []

        @callback("void(void *, const char *)")
        def visit(_, name):
            found.append(text_of(name))
        lib.rly_program_each_name(self.handle, visit, ffi.NULL)
        raise_kept()
        return found

    def _doc(self, name):
        """What a name is, as rly writes it: "@f", "Cons", "nn.dense"; or None."""
        return take_text(self.context, lib.rly_program_doc(self.handle,
                                                           chars_of(name)))

    def __getattr__(self, name):
        if name.startswith("__") or not self.has(name):
            raise AttributeError(f"the program has no function @{name}")
        return self.session_of_its_own.function(name)

    def __reduce__(self):
        raise TypeError("a program cannot be pickled: load it again, or fork")

    def __getitem__(self, name):
        """A function whose name is a word or a method of Python's: p["or"]."""
        return self.session_of_its_own[name]

    def __dir__(self):
        return [*super().__dir__(), *self._function_names()]

    def _function_names(self):
        return [name[1:] for name in self.names if name[0] == "@"]

    def has(self, name):
        return bool(self._function(name))

    def _function(self, name):
        """The library's function of the name, or NULL."""
        if not isinstance(name, str):
            raise TypeError(f"a name is wanted, not {name!r}")
        if "\0" in name:
            return NULL
        return lib.rly_program_function(self.handle, name.encode())

    def session(self, **options):
        return Session(self, **options)

    @property
    def session_of_its_own(self):
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = Session(self)
        return self._session

    def grad(self, name):
        """A function's gradient, by its name or itself: program.grad("loss")(x)
        gives the value and the derivatives, as rly's `grad` does."""
        of = self._function(getattr(name, "__name__", name))
        if isinstance(name, Bound):
            if name.f != of:
                raise Misuse(f"@{name.__name__} is no function of the program, or "
                             "was defined anew")
            name = name.__name__
        own = f"python_grad_{name}"
        if self._grads.get(name) != of or not of:  # new, or defined anew
            with self.changing():
                if self._grads.get(name) != of or not of:
                    self.add(f"let @{own} = grad(@{name});", "<grad>")
                    self._grads[name] = of
        return self.session_of_its_own.function(own)

    def find(self, path, line, column):
        """What stands at a line and a column, from 1, of the newest text of that
        path: a rly.Found with its kind, name, type, place and declaration; or
        None."""
        return _tools.find(self, path, line, column)

    # Types

    def text_of_type(self, t):
        return take_text(self.context, lib.rly_type_text(self.handle, t))

    def constructors(self, t):
        """Of a data type: name -> (class, types of the fields)."""
        known = self._types.get(t)
        if known is None:
            known, name_of_t = {}, text_of(lib.rly_type_name(t))
            for i in range(lib.rly_type_constructor_count(t)):
                count = lib.rly_constructor_field_count(t, i)
                labels = tuple(text_of(lib.rly_constructor_label(t, i, k))
                               or f"_{k}" for k in range(count))
                types = [lib.rly_constructor_field(self.handle, t, i, k)
                         for k in range(count)]
                name = text_of(lib.rly_type_constructor(t, i))
                known[name] = (values.data_class(name_of_t, name, labels),
                               types)
            self._types[t] = known
            for name, (made, _) in known.items():
                self._found.setdefault(name, {})[made] = None
        return known

    def class_of(self, t, name):
        return self.constructors(t)[name][0]

    def _find_class(self, name):
        if name not in self._found or self._changed:
            self._changed = False
            for written in self.names:  # types that functions mention
                f = self._function(written[1:])
                if written[0] == "@" and f:
                    for i in range(lib.rly_function_param_count(f)):
                        self._meet(lib.rly_function_param_type(f, i))
                    self._meet(lib.rly_function_result_type(f))
        found = list(self._found.get(name, ()))
        if len(found) > 1:  # a type was defined anew, or several have one
            text = self._doc(name) or ""
            found.sort(key=lambda made: _is_written(made, text))
        return found[-1] if found else None

    def _meet(self, t):
        todo, met = [t], set()
        while todo:
            t = todo.pop()
            if t in met:
                continue
            met.add(t)
            todo += [lib.rly_type_field(t, i)
                     for i in range(lib.rly_type_field_count(t))]
            if lib.rly_type_kind(t) == lib.RLY_CONSTRUCTOR:
                for _, types in self.constructors(t).values():
                    todo += types

    def form(self, t):
        """"List" and "Option" are Python's own; None: a data type."""
        name = text_of(lib.rly_type_name(t))
        names = set(self.constructors(t))
        if name == "List" and names == {"Cons", "Nil"}:
            return name
        if name == "Option" and names == {"Some", "None"}:
            return name
        return None

    def list_of(self, t):
        return "Cons", "Nil", self.constructors(t)["Cons"][1][0]


# --- Sessions -------------------------------------------------------------------------

class Arrays:
    """Arguments and result of a function of tensors, as rly_arrays that calls
    use again and again: a call of it is one of the library."""

    def __init__(self, types, result):
        chars = [lib.rly_type_dtype(t) for t in types]
        self.dtypes = [values.dtype_of(name) for name in chars]
        self.given = ffi.new("rly_array[]", len(types))
        for array, name in zip(self.given, chars):
            array.dtype = name
        self.shapes = [()] * len(types)
        self.slots = list(zip(range(len(types)), self.given, self.dtypes))
        self.result, self.value = ffi.new("rly_array *"), ffi.new("rly_value **")
        self.shape = self._shape(result)
        self.room = None
        if self.shape is None:
            self.room = ffi.new("char[]", values.SMALL)
            self.result.data, self.result.room = self.room, values.SMALL

    def _shape(self, result):
        """Of a result of known shape, which is written to an array made for it;
        None where others, if they are small, go to `room`."""
        if lib.rly_type_kind(result) != TENSOR:
            return None
        shape = tuple(lib.rly_type_dim(result, i)
                      for i in range(lib.rly_type_rank(result)))
        dtype = values.dtype_of(lib.rly_type_dtype(result))
        size = math.prod(shape) * dtype.itemsize
        if -1 in shape or lib.rly_type_rank(result) < 0 or size > values.SMALL:
            return None
        self.dtype, self.result.room = dtype, size
        return shape

    def set(self, args):
        """Where the arguments lie.  The arrays are to be kept for the call.
        None: an argument is a value of rly's."""
        kept = []
        for (i, array, dtype), arg in zip(self.slots, args):
            if type(arg) is not ndarray or arg.dtype != dtype:
                if isinstance(arg, values.Value):
                    return None
                arg = values.fit_array(arg, dtype)
                kept.append(arg)
            if arg.shape != self.shapes[i]:
                values.check_rank(arg)
                self.shapes[i] = arg.shape
                array.rank = arg.ndim
                array.shape[0:arg.ndim] = arg.shape
            if arg.flags.c_contiguous:
                array.strided = False
                array.data = from_buffer(arg) if arg.size else NULL
            else:
                arg = values.set_strided(array, arg)
                kept.append(arg)
        return kept

    def call(self, session, f, args):
        kept = self.set(args)
        if kept is None:
            return NotImplemented
        if self.shape is not None:
            out = np.empty(self.shape, self.dtype)
            self.result.data = from_buffer(out) if out.size else NULL
        status = _watched(session, call_arrays, session.handle, f,
                          len(args), self.given, self.result, self.value)
        del kept
        if status:
            raise session.failure(status)
        if self.value[0]:
            return values.from_c(session, self.value[0], owned=True)
        if self.shape is not None:
            return out if self.shape else out[()]
        return values.array_copied(self.result)


class Bound:
    # A function of a program in a session; its doc string is the program's.

    def __init__(self, session, name, f):
        self.session, self.__name__, self.f = session, name, f
        self.types = []  # of a closure, too, whose parameters have no names
        while t := lib.rly_function_param_type(f, len(self.types)):
            self.types.append(t)
        self.params = [text_of(lib.rly_function_param_name(f, i)) or f"_{i}"
                       for i in range(len(self.types))]
        self.arrays = None
        result = lib.rly_function_result_type(f)
        tensors = [*self.types, *[result] * (lib.rly_type_kind(result) == TENSOR)]
        if all(text_of(lib.rly_type_dtype(t)) in values.DTYPES
               for t in tensors):
            self.arrays = Arrays(self.types, result)

    @property
    def __doc__(self):
        """The definition up to its body, and its doc comment."""
        return self.session.program._doc(f"@{self.__name__}") or self.type

    @property
    def __signature__(self):
        either = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                  for name in self.params]
        by_name = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY,
                                     default=default)
                   for name, default in (("copy", True), ("raw", False))
                   if name not in self.params]
        return inspect.Signature(either + by_name)

    @property
    def type(self):
        program = self.session.program
        return take_text(program.context, lib.rly_function_type_text(
            program.handle, self.f))

    def __call__(self, *args, copy=True, raw=False, **named):
        """raw=True gives a handle, which can be an argument again and is not
        taken apart.  With copy=False arguments are borrowed."""
        if named or len(args) != len(self.types):
            args = values.in_order(f"{self.__name__}()", self.params, args,
                                   named)
        session = self.session
        with session.turn:
            if self.arrays and copy and not raw:
                result = self.arrays.call(session, self.f, args)
                if result is not NotImplemented:
                    return result
            handles = [values.to_c(session, t, arg, copy)
                       for t, arg in zip(self.types, args)]
            return session.result(raw, lib.rly_session_call_function,
                                  session.handle, self.f, handles)

    def __repr__(self):
        return f"<rly @{self.__name__}: {self.type}>"


class State(MutableMapping):
    """A session's mutable cells by path: session.state["@h"]."""

    def __init__(self, session):
        self.session = session

    def paths(self):
        """path -> its type"""
        s = self.session
        with s.turn:
            cells = lib.rly_session_state(s.handle)
            if not cells:
                raise s.failure()
            try:
                return {text_of(lib.rly_state_path(cells, i)):
                        text_of(lib.rly_state_type(cells, i))
                        for i in range(lib.rly_state_count(cells))}
            finally:
                lib.rly_state_free(cells)

    def _get(self, path):
        s = self.session
        value = lib.rly_session_get(s.handle, chars_of(path))
        if not value:
            error = s.failure()
            raise KeyError(str(error)) from error
        return ffi.gc(value, lib.rly_value_free)

    def __getitem__(self, path):
        with self.session.turn:
            return values.from_c(self.session, self._get(path))

    def __setitem__(self, path, new):
        s = self.session
        with s.turn:
            value = values.to_c(s, lib.rly_value_type(self._get(path)), new)
            s.check(lib.rly_session_set(s.handle, chars_of(path), value))

    def __delitem__(self, path):
        raise TypeError("a program's cells cannot be removed")

    def __repr__(self):
        return f"<rly state: {dict(self)!r}>"

    def __iter__(self):
        return iter(self.paths())

    def __len__(self):
        return len(self.paths())


class Turn:
    """A thread's turn at a session; another that comes meanwhile is refused, as
    freeing what it made would wait for the run.  (A context manager made of a
    generator is slow.)"""

    def __init__(self, session):
        lock = threading.Lock()
        self.acquire, self.release = lock.acquire, lock.release
        self.handle, self.program = session.handle, session.program
        self.owner = None

    def __enter__(self):
        if self.program._changer is not None:
            self.program.wait_for_change()
        if not self.acquire(False):
            raise Misuse("the session is at work in another thread, or this is "
                         "a callback of it")
        self.owner = threading.get_ident()

    def __exit__(self, kind, *_):
        if kind is KeyboardInterrupt:  # nobody reads what the run reported
            lib.rly_session_diagnostics_clear(self.handle)
            forget_raised()
        self.owner = None
        self.release()
        if kept:
            raise_kept()

    def look(self):
        """A turn to look at values, which callbacks of the session may, too."""
        return (contextlib.nullcontext()
                if self.owner == threading.get_ident() else self)


class Stream:
    """What Session.stream gives.  No generator, which would end at an error."""

    def __init__(self, session, frames, step, init):
        self.session, self.frames = session, iter(frames)
        self.step, self.init = step, init
        self.function = self.state = None
        self.frame = self.pair = None  # what is not yet answered

    def __iter__(self):
        return self

    def _begin(self):
        function = self.session.function(self.step)
        if self.init:
            self.state = self.session.call(self.init, raw=True)
        self.function = function

    def _answer(self, args):
        s = self.session
        if not self.init:
            return s.call(self.function, *args)
        if self.pair is None:
            self.pair = s.call(self.function, *args, self.state, raw=True)
        with s.turn:
            pair = self.pair.handle
            self.state = values.Value(s, lib.rly_value_field(pair, 1))
            return values.from_c(s, lib.rly_value_field(pair, 0), owned=True)

    def __next__(self):
        if self.function is None:
            self._begin()
        if self.frame is None:
            frame = next(self.frames)
            self.frame = frame if isinstance(frame, tuple) else (frame,)
        kept = False
        try:
            return self._answer(self.frame)
        except Misuse:
            kept = True
            raise
        finally:
            if not kept:
                self.frame = self.pair = None


class Session:
    """A run of a program, with cells of its own; for one thread at a time."""

    def __init__(self, program, *, write=None, handle=None):
        self.program, self.context = program, program.context
        self._write = write
        options = ffi.new("rly_session_options *")
        handles = []
        if write:
            @callback("void(void *, const char *, size_t)", handles)
            def written(_, text, size):
                write(ffi.buffer(text, size)[:].decode(errors="replace"))
            self._written = options.write = written
        if handle:
            made = handle(options)
        else:
            made = lib.rly_session_new(program.handle, options)
        if not made:
            raise failure(lib.RLY_LIMIT, self.context)
        self.handle = ffi.gc(made, lib.rly_session_free)
        handles.append(self.handle)
        self.state = State(self)
        self.turn = Turn(self)
        self._functions = {}
        with program._lock:
            program._sessions.add(self)

    def __reduce__(self):
        raise TypeError("a session cannot be pickled: save its state, or fork")

    def failure(self, status=None):
        if status is None:
            count = lib.rly_session_diagnostic_count(self.handle)
            status = lib.RLY_REFUSED if count else MISUSE
        error = failure(status, self.context, self.handle)
        if not isinstance(error, Error):
            return error
        cause = take_raised("error")
        if cause is not None and not isinstance(cause, Exception):
            return cause  # Ctrl-C, or sys.exit(), is no error of the run
        if cause is not None:
            error.__cause__ = cause
        return error

    def check(self, status):
        if status != lib.RLY_OK:
            raise self.failure(status)
        take_raised("own")

    # Calls

    def function(self, name):
        """A function by name, or one that any session of the program gave."""
        if isinstance(name, Bound):
            return (name if name.session is self
                    else Bound(self, name.__name__, name.f))
        f = self.program._function(name)
        known = self._functions.get(name)
        if known is None or known.f != f:  # defined anew
            if not f:
                raise AttributeError(f"the program has no function @{name}")
            known = self._functions[name] = Bound(self, name, f)
        return known

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.function(name)

    def __dir__(self):
        return [*super().__dir__(), *self.program._function_names()]

    def __getitem__(self, name):
        try:
            return self.function(name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def call(self, function, *args, **options):
        """Calls a function in this session, by name or as any session of the
        program gave it; options as of Bound.__call__."""
        return self.function(function)(*args, **options)

    def function_value(self, function, t):
        """A handle on a function of the program, or on a closure that calls one of
        Python."""
        if not isinstance(function, Bound):
            return operators.closure_of(self, function, t)
        return values.checked(self, lib.rly_value_of_function(
            self.handle, function.f))

    def call_value(self, function, args):
        t = lib.rly_value_type(function.handle)
        count = lib.rly_type_field_count(t) - 1  # the last is the result's
        if len(args) != count:
            raise TypeError(f"the function takes {count} arguments, not "
                            f"{len(args)}")
        with self.turn:
            handles = [values.to_c(self, lib.rly_type_field(t, i), arg)
                       for i, arg in enumerate(args)]
            return self.result(False, lib.rly_value_call, function.handle,
                                handles)

    def result(self, raw, function, *arguments):
        *front, handles = arguments
        out = ffi.new("rly_value **")
        status = _watched(self, function, *front, len(handles), handles,
                          out)
        if status:
            raise self.failure(status)
        if raw:
            return values.Value(self, out[0])
        return values.from_c(self, out[0], owned=True)

    def run(self):
        """Evaluates what was added; the values of its expressions."""
        shown = []
        self._run(lambda value: shown.append(values.from_c(self, value)))
        return shown

    def _run(self, show):
        """The same, each value by a handle that `show` borrows."""
        shown = callback("void(void *, rly_value *)", [self.handle])(
            lambda _, value: show(value))
        with self.turn:
            self.check(_watched(self, lib.rly_session_run, self.handle, shown,
                                NULL))

    def stream(self, frames, step="step", init=None):
        """The results of `step` for each frame, as they are asked for.

        With `init`, a function of no arguments that gives the first state, the
        step is (x, state) -> (y, state), and the state stays in rly.

        Where the session is at work elsewhere, Misuse is raised and the frame is
        kept: the next request takes it."""
        return Stream(self, frames, step, init)

    def interrupt(self):
        """Stops the run under way, from any thread."""
        lib.rly_session_interrupt(self.handle)

    # State

    def fork(self, **options):
        """A session that goes on from here on its own."""
        with self.turn:
            return Session(self.program, **options, handle=lambda o:
                           lib.rly_session_fork(self.handle, o))

    def snapshot(self):
        with self.turn:
            snapshot = lib.rly_session_snapshot(self.handle)
            if not snapshot:
                raise self.failure()
            return ffi.gc(snapshot, lib.rly_snapshot_free)

    def restore(self, snapshot):
        with self.turn:
            self.check(lib.rly_session_restore(self.handle, snapshot))

    def reset(self):
        with self.turn:
            self.check(lib.rly_session_reset(self.handle))

    def save(self, path):
        with self.turn:
            self.check(lib.rly_session_save(self.handle, path_of(path)))

    def load(self, path):
        with self.turn:
            self.check(lib.rly_session_load(self.handle, path_of(path)))
