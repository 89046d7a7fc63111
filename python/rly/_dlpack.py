# SPDX-License-Identifier: Apache-2.0
"""DLPack: tensors of torch, jax and others, to rly and back without a copy, and
those of dtypes that numpy has not (bfloat16).

The standard hands a DLManagedTensor about in a capsule of Python's, which is
called "dltensor" until somebody has taken what is in it."""
import ctypes

import numpy as np

from ._library import Refused, ffi, lib, text_of

ffi.cdef("""struct DLManagedTensor {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *);
};""")

CPU = 1
FULL, USED = b"dltensor", b"used_dltensor"  # must live as long as capsules

_api = ctypes.pythonapi
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, _Destructor
_api.PyCapsule_SetName.argtypes = ctypes.py_object, ctypes.c_char_p
_take = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api))
# Of a capsule that is being freed, which must not be kept: its address.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api))
_of_dying = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p,
                              ctypes.c_char_p)(("PyCapsule_GetPointer", _api))


@_Destructor
def _unwanted(capsule):
    """Nobody took what is in it."""
    if _is_valid(capsule, FULL):
        managed = _managed(_of_dying(capsule, FULL))
        managed.deleter(managed)


def _managed(address):
    return ffi.cast("struct DLManagedTensor *", address)


def is_foreign(value):
    """Is it a tensor of another library than numpy?"""
    return (hasattr(value, "__dlpack__")
            and not isinstance(value, (np.ndarray, np.generic)))


def take(value, made):
    """What `made` makes of the tensor in memory; it gives NULL if it cannot."""
    device, _ = value.__dlpack_device__()
    if device != CPU:
        raise Refused(f"a tensor in memory is wanted, not one on {device!r}")
    capsule = value.__dlpack__()
    result = made(_managed(_take(capsule, FULL)))
    if not result:
        raise Refused(text_of(lib.rly_misuse()))
    _api.PyCapsule_SetName(capsule, USED)
    return result


def give(handle):
    """A capsule of a value's elements, which the taker must not change."""
    managed = lib.rly_value_dlpack(handle)
    if not managed:
        raise BufferError(text_of(lib.rly_misuse()))
    return _api.PyCapsule_New(int(ffi.cast("uintptr_t", managed)), FULL,
                              _unwanted)
