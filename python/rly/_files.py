# SPDX-License-Identifier: Apache-2.0
"""Files in memory: a mapping of paths to bytes in place of the system's files."""
import itertools

from ._library import ffi, lasting, lib, raised

_lent: dict[int, object] = {}
_tickets = itertools.count(1)


@lasting
@ffi.callback("void(void *)")
def _release(owner, lent=_lent, cast=ffi.cast):
    lent.pop(int(cast("uintptr_t", owner)), None)


def _bytes_of(content):
    return (content.encode() if isinstance(content, str)
            else bytes(memoryview(content)))


def _guarded(signature):
    """A callback: what it raises is kept for the call to raise."""
    def decorate(work):
        def run(_, path, *more):
            return work(ffi.string(path).decode(), *more)

        def keep(_kind, error, _trace):
            raised.own = error
        return ffi.callback(signature, run, error=lib.RLY_FILE_NONE, onerror=keep)
    return decorate


def attach(context, files):
    """Reads look into the mapping, then at the system; writes go into it.  Gives
    what must live as long as the context."""

    @_guarded("rly_file(void *, const char *, rly_bytes *)")
    def read(path, out):
        content = files.get(path)
        if content is None:
            return lib.RLY_FILE_OF_SYSTEM
        data = ffi.from_buffer(_bytes_of(content))
        ticket = next(_tickets)
        _lent[ticket] = data
        out.data, out.size = data, len(data)
        out.release, out.owner = _release, ffi.cast("void *", ticket)
        return lib.RLY_FILE_DONE

    @_guarded("rly_file(void *, const char *, const void *, size_t)")
    def write(path, data, size):
        files[path] = bytes(ffi.buffer(data, size))
        return lib.RLY_FILE_DONE

    lib.rly_context_set_files(context, ffi.new(
        "rly_files *", {"read": read, "write": write}))
    return read, write
