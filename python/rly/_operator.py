"""Operators in Python: functions of arrays that a program calls.

The function sees the operands as arrays over rly's memory, which are read-only
and good until it returns; what it gives is copied into the result.  It is called
on the thread that runs the session."""
import threading

import numpy as np

from . import _values as values
from ._library import ffi, lib

# What an operator of this thread raised last: the cause of the error to come.
raised = threading.local()


def take_cause():
    """The exception behind a run's failure, once; or None."""
    cause, raised.error = getattr(raised, "error", None), None
    return cause


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
    return [array_over(call.operands[i]) for i in range(call.count)]


def guarded(work):
    """A callback's body: what it raises fails the call."""
    def run(data, call, *more):
        try:
            work(call, *more)
            return True
        except BaseException as error:  # a run's error, of which it is the cause
            raised.error = error
            said = f"{type(error).__name__}: {error}".encode()
            return lib.rly_operator_fail(call, said)
    return run


def callbacks(function, shape):
    def compute(call):
        given = np.asarray(function(*operands_of(call)))
        to = array_over(call.result, writable=True)
        if given.dtype != to.dtype or given.shape != to.shape:
            raise TypeError(f"the operator gave {given.dtype} of shape "
                            f"{given.shape}, not {to.dtype} of {to.shape}")
        if to.size:
            to[...] = given

    def measure(call, dims):
        found = shape(*operands_of(call))
        if len(found) != call.result.rank:
            raise TypeError(f"the operator's shape is {tuple(found)}, not one "
                            f"of rank {call.result.rank}")
        for i, dim in enumerate(found):
            if dims[i] == -1:
                dims[i] = dim

    run = ffi.callback("bool(void *, rly_operator_call *)", guarded(compute))
    if not shape:
        return run, ffi.NULL
    return run, ffi.callback("bool(void *, rly_operator_call *, int64_t *)",
                             guarded(measure))


def add(program, signature, function, gradient, effect, shape):
    """The callbacks, which must live as long as the program."""
    run, measure = callbacks(function, shape)
    texts = [ffi.new("char[]", text.encode()) if text else ffi.NULL
             for text in (signature, gradient)]
    operator = ffi.new("rly_operator *", {
        "signature": texts[0], "gradient": texts[1], "effect": effect,
        "run": run, "shape": measure})
    program.check(lib.rly_operator_add(program.handle, operator))
    return run, measure
