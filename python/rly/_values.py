# SPDX-License-Identifier: Apache-2.0
"""Values on both sides: numpy arrays, tuples, lists and data to rly and back.

    rly                        Python
    Tensor[(2, 3), float32]    numpy array; a scalar is a numpy scalar; in, also
                               what torch and others hand over by DLPack
    Tensor[(4), bfloat16]      a handle, which torch takes by DLPack
    (A, B)                     tuple
    List[A]                    list
    Option[A]                  None, or the value itself
    Node(left: ..., ...)       an instance of program.data.Node
    fn (A) -> B                a handle that can be called; in, also a function
                               of the program, or of Python where A and B are
                               tensors
    ref(A)                     a handle

Elements come out without a copy: the array shares the tensor's memory, is
read-only, and keeps it alive.  They go in copied, or with copy=False borrowed:
then the array must stay as it is while rly holds it.  It may be strided."""
import functools
import itertools
import math

import numpy as np

from . import _dlpack
from ._dlpack import is_foreign
from ._library import Refused, ffi, lasting, lib, take_text, text_of

buffer = ffi.buffer

# int4 and uint4 take a byte each.
DTYPES = {name: np.dtype(name) for name in
          ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
           "uint64", "float16", "float32", "float64", "bool")}
DTYPES["int4"], DTYPES["uint4"] = DTYPES["int8"], DTYPES["uint8"]
RANGES = {dtype: (np.iinfo(dtype).min, np.iinfo(dtype).max)
          for dtype in DTYPES.values() if dtype.kind in "iu"}
NAMES = {dtype: ffi.new("char[]", name.encode())
         for name, dtype in DTYPES.items() if not name.endswith("int4")}
NUMBERS = (int, float, np.number, np.bool_)
RANK_MOST = 8  # as rly_array says

_by_chars: dict[object, np.dtype] = {}


def dtype_of(chars):
    """The dtype of a name that is a C string of the library's, for good."""
    known = _by_chars.get(chars)
    if known is None:
        name = text_of(chars)
        if name not in DTYPES:
            raise TypeError(f"numpy has no {name}: cast it in the program")
        known = _by_chars[chars] = DTYPES[name]
    return known


# --- Handles --------------------------------------------------------------------

class Value:
    """A value that stays in rly: a ref, a tensor of a dtype that numpy has not,
    or what `raw=True` asked for.  torch.from_dlpack(value) shares a tensor's
    elements, which must not be changed."""

    def __init__(self, session, handle):
        self.session = session
        self.handle = ffi.gc(handle, lib.rly_value_free)

    @property
    def type(self):
        return self._text(lib.rly_value_type_text)

    def get(self):
        """The value in Python's terms."""
        with self.session.turn.look():
            return from_c(self.session, self.handle)

    def _text(self, function):
        with self.session.turn.look():
            return take_text(self.session.context, function(self.handle))

    def __array__(self, dtype=None, copy=None):
        """numpy would make an array of one object."""
        array = self.get()
        if isinstance(array, (Value, tuple, list)):
            raise TypeError(f"numpy has no array for {self.type}")
        return np.array(array, dtype) if copy else np.asarray(array, dtype)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None,
                   copy=None):
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("a value of rly is in memory")
        if not copy:
            return _dlpack.give(self.handle)
        a = ffi.new("rly_array *")
        with self.session.turn.look():
            if not lib.rly_value_array(self.handle, a):
                raise BufferError(text_of(lib.rly_misuse()))
            return _dlpack.give(checked(self.session, lib.rly_value_of_array(
                self.session.handle, a, ffi.NULL, ffi.NULL)))

    def __dlpack_device__(self):
        return _dlpack.CPU, 0

    def __repr__(self):
        return self._text(lib.rly_value_text)


class Function(Value):
    """A function that a call gave; it can be called."""

    def __call__(self, *args):
        return self.session.call_value(self, args)


def in_order(owner, names, args, named):
    """All arguments by position: those given by name behind `args`."""
    try:
        if named:
            args += tuple(named.pop(name) for name in names[len(args):])
    except KeyError as missing:
        raise TypeError(f"{owner} needs {missing}") from None
    if named or len(args) != len(names):
        raise TypeError(f"{owner} takes ({', '.join(names)})")
    return args


class Data(tuple):
    """A constructor's value.  Its class is program.data.NAME; the fields are
    attributes where they have names, and match positions."""
    __slots__ = ()
    _fields = ()

    def __new__(cls, *fields, **named):
        return super().__new__(
            cls, in_order(cls.__name__, cls._fields, fields, named))

    def __reduce__(self):
        return data_of, (self._data_type, type(self).__name__, self._fields,
                         tuple(self))

    def __eq__(self, other):
        return type(self) is type(other) and super().__eq__(other)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self).__name__, tuple(self)))

    def __repr__(self):
        if not self._fields:
            return type(self).__name__
        return f"{type(self).__name__}({', '.join(map(repr, self))})"


@functools.cache
def data_class(data_type, name, fields):
    """The class of a constructor.  Programs that have the same one share it, so
    that values can be pickled, and belong to all of them."""
    members = {"__slots__": (), "_fields": fields, "__match_args__": fields,
               "_data_type": data_type}
    for i, label in enumerate(fields):
        members[label] = property(lambda self, i=i: self[i])
    return type(name, (Data,), members)


def data_of(data_type, name, fields, parts):
    """A value from its pickle."""
    return data_class(data_type, name, fields)(*parts)


# --- From rly -------------------------------------------------------------------

SMALL = 4096  # bytes: copying them costs less than sharing


def array_copied(a):
    """A numpy array of a copy of an rly_array's row-major elements."""
    dtype = dtype_of(a.dtype)
    shape = tuple(a.shape[0:a.rank])
    size = math.prod(shape) * dtype.itemsize
    array = np.frombuffer(bytearray(buffer(a.data, size)) if size else b"",
                          dtype)
    return array.reshape(shape) if shape else array[0]


def tensor_from_c(handle):
    """A numpy array of a tensor value: a copy where it is small, else sharing
    its elements."""
    a = ffi.new("rly_array *")
    lib.rly_value_array(handle, a)
    shape, dtype = tuple(a.shape[0:a.rank]), dtype_of(a.dtype)
    size = math.prod(shape) * dtype.itemsize
    if size <= SMALL and not a.strided:
        return array_copied(a)
    tensor = lib.rly_value_tensor(handle)
    if not tensor:
        raise MemoryError("rly: no memory for a tensor")
    # The buffer keeps the pointer and with it the tensor alive.
    data = ffi.gc(ffi.cast("char *", lib.rly_tensor_data(tensor)),
                  lambda _: lib.rly_tensor_free(tensor))
    array = np.frombuffer(buffer(data, size), dtype).reshape(shape)
    array.flags.writeable = False
    return array


def fields_from_c(session, handle):
    for i in range(lib.rly_value_field_count(handle)):
        field = lib.rly_value_field(handle, i)
        yield from_c(session, field, owned=True)


def list_from_c(session, handle):
    """Along the second fields, for a list may be of any length."""
    items, node = [], ffi.gc(lib.rly_value_keep(handle), lib.rly_value_free)
    while lib.rly_value_field_count(node) == 2:
        items.append(from_c(session, lib.rly_value_field(node, 0), owned=True))
        node = ffi.gc(lib.rly_value_field(node, 1), lib.rly_value_free)
    return items


def from_c(session, handle, owned=False):
    """A value in Python's terms.  `owned`: the handle is freed."""
    if owned:
        handle = ffi.gc(handle, lib.rly_value_free)
    kind = lib.rly_value_kind(handle)
    if kind == lib.RLY_TENSOR:
        if text_of(lib.rly_value_dtype(handle)) in DTYPES:
            return tensor_from_c(handle)
        return Value(session, lib.rly_value_keep(handle))
    if kind == lib.RLY_TUPLE:
        return tuple(fields_from_c(session, handle))
    if kind != lib.RLY_CONSTRUCTOR:
        wrap = Function if kind == lib.RLY_FUNCTION else Value
        return wrap(session, lib.rly_value_keep(handle))
    t = lib.rly_value_type(handle)
    form = session.program.form(t)
    if form == "List":
        return list_from_c(session, handle)
    fields = fields_from_c(session, handle)
    name = text_of(lib.rly_value_constructor(handle))
    if form == "Option":
        return next(fields, None)
    return session.program.class_of(t, name)(*fields)


# --- To rly ---------------------------------------------------------------------

def fit_number(value, dtype):
    """The dtype's element, or array, of numbers: Python's, numpy's scalars, lists
    of both.  They take the dtype where it has them; floats are rounded."""
    given = np.asarray(value)
    if dtype is None or given.dtype == dtype:
        return given
    if given.dtype.kind == "f" and dtype.kind in "iu":
        # Of a list of numbers numpy may have rounded integers.
        given = np.asarray(value, object)
    big = given.dtype == object  # or integers beyond 64 bits, if numbers at all
    fits = (all(isinstance(x, NUMBERS) for x in given.flat) if big
            else given.dtype.kind in "biuf")
    try:
        with np.errstate(all="ignore"):
            made = given.astype(dtype) if fits else given
    except (OverflowError, ValueError):  # of infinity; of NaN
        fits = False
    if fits and dtype.kind == "f":
        fits = not (~np.isfinite(made) & (big or np.isfinite(given))).any()
    elif fits:
        fits = np.array_equal(made, given)
    if not fits:
        raise TypeError(f"{value!r} is no {dtype}")
    return made


def fit_array(value, dtype):
    """What is given to rly, or by an operator, as an array of the dtype.  An array
    of another dtype is refused, as rly converts nothing by itself; one of no
    dimensions is a number."""
    if type(value) is int and dtype in RANGES:
        low, high = RANGES[dtype]
        if low <= value <= high:
            return np.array(value, dtype)
    if value is None:  # which numpy makes a NaN
        raise TypeError(f"None is no {dtype or 'tensor'}")
    if np.ma.is_masked(value):
        raise TypeError("an array with masked elements is given, which rly has "
                        "not: fill them (numpy.ma.filled)")
    given = np.from_dlpack(value) if is_foreign(value) else value
    if not isinstance(given, np.ndarray) or not given.ndim:
        return fit_number(given, dtype)
    if dtype is not None and given.dtype != dtype:
        raise TypeError(f"an array of {given.dtype} is given where {dtype} "
                        "is wanted")
    return given


_borrowed: dict[int, object] = {}
_tickets = itertools.count(1)


@lasting
@ffi.callback("void(void *)")
def _release(owner, lent=_borrowed, cast=ffi.cast):
    lent.pop(int(cast("uintptr_t", owner)), None)


def elements_of(array):
    return ffi.from_buffer(array) if array.size else ffi.NULL


def name_of(array):
    try:
        return NAMES[array.dtype]
    except KeyError:
        raise TypeError(f"rly has no dtype {array.dtype}") from None


def check_rank(array):
    if array.ndim > RANK_MOST:
        raise ValueError(f"an array of {array.ndim} dimensions is given, and a "
                         f"tensor has at most {RANK_MOST}")


def tensor_to_c(context, value, dtype, copy=True):
    """An rly_tensor of what is given where the dtype is wanted (a name of the
    library's; NULL: any); the caller frees it."""
    if is_foreign(value):
        return _dlpack.take(value, lambda managed: lib.rly_tensor_of_dlpack(
            context, managed, copy))
    array = fit_array(value, dtype_of(dtype) if dtype else None)
    array = np.asarray(array, order="C")
    check_rank(array)
    name, shape = dtype or name_of(array), array.shape or ffi.NULL
    data = elements_of(array)
    if copy or not array.size:
        tensor = lib.rly_tensor_new(context, name, array.ndim, shape, data)
    else:
        ticket = next(_tickets)
        _borrowed[ticket] = array
        tensor = lib.rly_tensor_borrow(context, name, array.ndim, shape, data,
                                       _release, ffi.cast("void *", ticket))
        if not tensor:
            del _borrowed[ticket]
    if not tensor:
        raise Refused(text_of(lib.rly_misuse()))
    return tensor


def set_strided(a, array):
    """The place of elements that are not row-major, in an rly_array; the array
    that they are in, a copy where they are no whole elements apart, or not
    aligned."""
    size = array.itemsize
    if not array.flags.aligned or any(stride % size for stride in array.strides):
        array = np.array(array, order="C")
    a.strided = True
    a.strides[0:array.ndim] = [stride // size for stride in array.strides]
    a.data = ffi.cast("void *", array.ctypes.data)
    return array


def array_to_c(session, array, dtype, copy):
    """A handle on a value of the array, as the library calls its dtype: one of
    int8 may hold an int4."""
    a = ffi.new("rly_array *")
    check_rank(array)
    array = set_strided(a, array)
    a.dtype, a.rank, a.shape[0:array.ndim] = dtype, array.ndim, array.shape
    if copy or not array.size:
        return lib.rly_value_of_array(session.handle, a, ffi.NULL, ffi.NULL)
    ticket = next(_tickets)
    _borrowed[ticket] = array
    value = lib.rly_value_of_array(session.handle, a, _release,
                                   ffi.cast("void *", ticket))
    if not value:
        del _borrowed[ticket]
    return value


def checked(session, handle):
    if not handle:
        count = lib.rly_session_diagnostic_count(session.handle)
        raise session.failure(lib.RLY_REFUSED if count else lib.RLY_MISUSE)
    return ffi.gc(handle, lib.rly_value_free)


def make(session, t, constructor, fields):
    return checked(session, lib.rly_value_construct(
        session.handle, t, constructor.encode(), len(fields), fields))


def list_to_c(session, t, items, copy):
    program = session.program
    cons, nil, element = program.list_of(t)
    node = make(session, t, nil, [])
    try:
        items = list(items)
    except TypeError:
        raise TypeError(f"a list is wanted, not {items!r}") from None
    for item in reversed(items):
        head = to_c(session, element, item, copy)
        node = make(session, t, cons, [head, node])
    return node


def tuple_to_c(session, t, value, copy):
    count = lib.rly_type_field_count(t)
    if not isinstance(value, (tuple, list)) or len(value) != count:
        raise TypeError(f"a tuple of {count} values is wanted, not {value!r}")
    fields = [to_c(session, lib.rly_type_field(t, i), value[i], copy)
              for i in range(count)]
    return checked(session, lib.rly_value_tuple(session.handle, count, fields))


def data_to_c(session, t, value, copy):
    program = session.program
    form = program.form(t)
    if form == "List":
        return list_to_c(session, t, value, copy)
    if form == "Option":
        if value is None:
            return make(session, t, "None", [])
        some = program.constructors(t)["Some"]
        return make(session, t, "Some",
                    [to_c(session, some[1][0], value, copy)])
    if isinstance(value, type) and issubclass(value, Data):
        value = value()  # as rly writes one without fields
    name = type(value).__name__
    constructors = program.constructors(t)
    made, types = constructors.get(name, (None, ()))
    if type(value) is not made:
        names = ", ".join(constructors)
        raise TypeError(f"one of {names} is wanted, not {value!r}"
                        + " of another type" * (made is not None))
    return make(session, t, name, [to_c(session, types[i], field, copy)
                                   for i, field in enumerate(value)])


def to_c(session, t, value, copy=True):
    """A handle on a value of the type, freed with the last reference to it."""
    if isinstance(value, Value):
        return value.handle
    kind = lib.rly_type_kind(t)
    if kind == lib.RLY_TENSOR and is_foreign(value):
        return checked(session, _dlpack.take(
            value, lambda managed: lib.rly_value_of_dlpack(
                session.handle, managed, copy)))
    if kind == lib.RLY_TENSOR:
        dtype = lib.rly_type_dtype(t)
        array = fit_array(value, dtype_of(dtype))
        return checked(session, array_to_c(session, array, dtype, copy))
    if kind == lib.RLY_TUPLE:
        return tuple_to_c(session, t, value, copy)
    if kind == lib.RLY_CONSTRUCTOR:
        return data_to_c(session, t, value, copy)
    if kind == lib.RLY_FUNCTION and callable(value):
        return session.function_value(value, t)
    wanted = take_text(session.context,
                       lib.rly_type_text(session.program.handle, t))
    raise TypeError(f"{wanted} is wanted: only a value that rly gave will do")
