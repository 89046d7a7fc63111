# SPDX-License-Identifier: Apache-2.0
"""Operators in Python: functions of arrays that a program calls.

The function is given copies of the operands, which it may keep; what it gives is
copied into the result.  It is called
on the thread that runs the session.

A function of Python that is given as a value is a closure of rly's over a tensor
of one number, by which an operator of the closure's type finds the function.  The
tensor is borrowed, so rly says when no value has it any more: then the function
is let go of."""
import itertools
import re
import threading
import weakref
from typing import Any

import numpy as np

from . import _values as values
from ._library import chars_of, ffi, lib, raised

# The function is to be called for the result's shape, too.
BY_RESULT = object()


def array_over(operand, writable=False):
    dtype = values.dtype_of(operand.dtype)
    size = operand.count * dtype.itemsize
    memory = ffi.buffer(operand.data, size) if size else b""
    array = np.frombuffer(memory, dtype).reshape(
        tuple(operand.shape[0:operand.rank]))
    if size and not writable:
        array.flags.writeable = False
    return array


def operands_of(call):
    """Copies: the memory is rly's own, and used for other things afterwards."""
    copies = [array_over(call.operands[i]).copy() for i in range(call.count)]
    for copy in copies:
        copy.flags.writeable = False
    return copies


def guarded(signature, work):
    """A callback: what it raises fails the call."""
    def keep(_kind, error, _trace):  # Ctrl-C before `run` was at its `try`
        raised.error = error

    def run(data, call, *more):
        try:
            work(call, *more)
            return True
        except BaseException as error:  # a run's error, of which it is the cause
            raised.error = error
            said = f"{type(error).__name__}: {error}".encode(errors="replace")
            return lib.rly_operator_fail(call, said)
    return ffi.callback(signature, run, onerror=keep)


def arrays_of(call, given):
    """What the operator gave for each of its results: for several a tuple."""
    count = call.result_count
    if count == 1:
        return [given]
    if not isinstance(given, (tuple, list)) or len(given) != count:
        raise TypeError(f"the operator gave {type(given).__name__}, not a tuple "
                        f"of {count} arrays")
    return given


def callbacks(function, shape):
    early = threading.local()  # the results whose shapes were asked for

    def results_of(call):
        made, early.results = getattr(early, "results", None), None
        if made is None:
            made = arrays_of(call, function(*operands_of(call)))
        return made

    def compute(call):
        for i, result in enumerate(results_of(call)):
            to = array_over(call.results[i], writable=True)
            given = values.fit_array(result, to.dtype)
            if given.shape != to.shape:
                raise TypeError(f"the operator gave an array of shape "
                                f"{given.shape}, not of {to.shape}")
            if to.size:
                to[...] = given

    def shapes_of(call):
        early.results = None
        if shape is BY_RESULT:
            early.results = arrays_of(call, function(*operands_of(call)))
            return [np.shape(result) for result in early.results]
        found = shape(*operands_of(call))
        return [found] if call.result_count == 1 else found

    def measure(call, dims):
        shapes, at = shapes_of(call), 0
        if len(shapes) != call.result_count:
            raise TypeError(f"the operator has {len(shapes)} shapes, not one "
                            f"for each of {call.result_count} results")
        for i, found in enumerate(shapes):
            rank = call.results[i].rank
            if len(found) != rank:
                raise TypeError(f"the operator's shape is {tuple(found)}, not "
                                f"one of rank {rank}")
            for k, dim in enumerate(found):
                if dims[at + k] == -1:
                    dims[at + k] = dim
            at += rank

    run = guarded("bool(void *, rly_operator_call *)", compute)
    if not shape:
        return run, ffi.NULL
    return run, guarded("bool(void *, rly_operator_call *, int64_t *)", measure)


def add(program, signature, function, gradient, effect, shape):
    """The callbacks, which must live as long as the program."""
    run, measure = callbacks(function, shape)
    texts = [ffi.new("char[]", chars_of(text)) if text else ffi.NULL
             for text in (signature, gradient)]
    operator = ffi.new("rly_operator *", {
        "signature": texts[0], "gradient": texts[1], "effect": effect,
        "run": run, "shape": measure})
    program.check(program._change(lib.rly_operator_add, program.handle, operator))
    return run, measure


def tensor_text(program, t):
    """A tensor type in a signature; None: it is no tensor's."""
    if lib.rly_type_kind(t) != lib.RLY_TENSOR or lib.rly_type_rank(t) < 0:
        return None
    return program.text_of_type(t)


def has_name(text):
    """Does a shape in this text have a dimension with a name?"""
    return re.search(r"\[\([^)]*[A-Za-z_]", text)


def result_text(program, t):
    """The same of a result, which may be a tuple of 2 to 8 tensors."""
    if lib.rly_type_kind(t) != lib.RLY_TUPLE:
        return tensor_text(program, t)
    fields = [tensor_text(program, lib.rly_type_field(t, i))
              for i in range(lib.rly_type_field_count(t))]
    if None in fields or not 2 <= len(fields) <= 8:
        return None
    return f"({', '.join(fields)})"


# --- Functions as values ------------------------------------------------------

class Place(np.ndarray):
    """The number by which an operator finds a function."""
    function: Any = None


# By number, as long as rly borrows them.
_places: "weakref.WeakValueDictionary[int, Place]" = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def _called(number, *operands):
    return _places[int(number[0])].function(*operands)


def closure_maker(session, t):
    """The function of the program that makes a value of type `t` of a number;
    it and its operator are added to the program once."""
    program = session.program
    if t not in program._closures:
        with program.changing(session):
            if t not in program._closures:
                program._closures[t] = new_closure_maker(program, t)
    return program._closures[t]


def new_closure_maker(program, t):
    wanted = program.text_of_type(t)
    fields = [lib.rly_type_field(t, i)
              for i in range(lib.rly_type_field_count(t))]
    params = [tensor_text(program, field) for field in fields[:-1]]
    result = result_text(program, fields[-1])
    if not params or None in params or result is None:
        raise TypeError(f"{wanted} is wanted: a function of Python takes "
                        "tensors, and gives one or a tuple of 2 to 8")
    if has_name(wanted):
        raise TypeError(f"{wanted} is wanted: a function of Python is of no "
                        "named dimension; in the program, write `?`")
    name = f"python_{len(program._closures)}"
    given = ", ".join(f"%x{i}: {text}" for i, text in enumerate(params))
    names = ", ".join(f"%x{i}" for i in range(len(params)))
    number = "%number: Tensor[(1), int64]"
    program.operator(f"op @{name}({number}, {given}) -> {result}", effect=True,
                     shape=BY_RESULT if "?" in result else None)(_called)
    program.add(f"def @{name}_of({number}) {{ fn ({given}) -> {result} "
                f"{{ @{name}(%number, {names}) }} }}", "<python>")
    return lib.rly_program_function(program.handle, f"{name}_of".encode())


def closure_of(session, function, t):
    """A handle on a value of type `t` that calls the function."""
    maker, number = closure_maker(session, t), next(_numbers)
    place = np.array([number], "int64").view(Place)
    place.function, _places[number] = function, place
    given = values.checked(session, values.array_to_c(
        session, place, values.name_of(place), False))
    out = ffi.new("rly_value **")
    session.check(lib.rly_session_call_function(session.handle, maker, 1,
                                                [given], out))
    return ffi.gc(out[0], lib.rly_value_free)
