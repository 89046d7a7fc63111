#!/usr/bin/env python3
"""How a Python program uses librly, through ctypes alone.

    embed.py librly.so charlm.rly charlm.safetensors < text

It is embed.c again: each line of the text behind its mean surprise in bits,
then the mean over all characters, in nats."""
import ctypes
import math
import sys

NEW = ctypes.c_void_p  # every handle is opaque
TEXT = ctypes.c_char_p

# name: (result, arguments) as rly.h declares them
FUNCTIONS = {
    "context_new": (NEW, [NEW]),
    "context_free": (None, [NEW]),
    "diagnostics_text": (NEW, [NEW, ctypes.c_bool]),
    "session_diagnostics_text": (NEW, [NEW, ctypes.c_bool]),
    "text_free": (None, [NEW, NEW]),
    "program_new": (NEW, [NEW]),
    "program_free": (None, [NEW]),
    "program_add_file": (ctypes.c_int, [NEW, TEXT, ctypes.c_uint]),
    "program_bind_file": (ctypes.c_int, [NEW, TEXT]),
    "session_new": (NEW, [NEW, NEW]),
    "session_free": (None, [NEW]),
    "session_call": (ctypes.c_int, [NEW, TEXT, ctypes.c_int,
                                    ctypes.POINTER(NEW),
                                    ctypes.POINTER(NEW)]),
    "value_field": (NEW, [NEW, ctypes.c_int]),
    "value_of_tensor": (NEW, [NEW, NEW]),
    "value_tensor": (NEW, [NEW]),
    "value_free": (None, [NEW]),
    "tensor_new": (NEW, [NEW, TEXT, ctypes.c_int,
                         ctypes.POINTER(ctypes.c_int64), NEW]),
    "tensor_count": (ctypes.c_int64, [NEW]),
    "tensor_data": (NEW, [NEW]),
    "tensor_free": (None, [NEW]),
}


class Model:
    """The program's @blank gives a state, @read takes and gives one."""

    def __init__(self, library, program, weights):
        self.rly = ctypes.CDLL(library)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.rly, "rly_" + name)
            function.restype, function.argtypes = result, arguments
        self.session = None
        self.context = self.rly.rly_context_new(None)
        self.program = self.rly.rly_program_new(self.context)
        self.check(self.rly.rly_program_add_file(self.program,
                                                 program.encode(), 0))
        self.check(self.rly.rly_program_bind_file(self.program,
                                                  weights.encode()))
        self.session = self.rly.rly_session_new(self.program, None)
        self.net = self.call("blank")

    def close(self):
        self.rly.rly_value_free(self.net)
        self.rly.rly_session_free(self.session)
        self.rly.rly_program_free(self.program)
        self.rly.rly_context_free(self.context)

    def check(self, status):
        if status:
            text = (self.rly.rly_session_diagnostics_text(self.session, False)
                    if self.session else
                    self.rly.rly_diagnostics_text(self.context, False))
            message = ctypes.string_at(text).decode()
            self.rly.rly_text_free(self.context, text)
            raise RuntimeError(message)

    def call(self, name, *values):
        result = NEW()
        self.check(self.rly.rly_session_call(
            self.session, name.encode(), len(values),
            (NEW * len(values))(*values), ctypes.byref(result)))
        return result

    def logits(self):
        field = self.rly.rly_value_field(self.net, 0)
        tensor = self.rly.rly_value_tensor(field)
        count = self.rly.rly_tensor_count(tensor)
        data = ctypes.cast(self.rly.rly_tensor_data(tensor),
                           ctypes.POINTER(ctypes.c_float))
        numbers = data[:count]
        self.rly.rly_tensor_free(tensor)
        self.rly.rly_value_free(field)
        return numbers

    def surprise(self, index):
        numbers = self.logits()
        return math.log(sum(map(math.exp, numbers))) - numbers[index]

    def read(self, index):
        number = ctypes.c_int32(index)
        tensor = self.rly.rly_tensor_new(self.context, b"int32", 0, None,
                                         ctypes.addressof(number))
        char = self.rly.rly_value_of_tensor(self.session, tensor)
        after = self.call("read", self.net, char)
        self.rly.rly_tensor_free(tensor)
        self.rly.rly_value_free(char)
        self.rly.rly_value_free(self.net)
        self.net = after


def index_of(char):
    """The model's alphabet: 0 is newline, i the character of code 31 + i."""
    return char - 31 if 32 <= char < 127 else 0


def stream(model, source):
    total, count = 0.0, 0
    for line in source:
        of_line = 0.0
        for char in line:
            if count:  # nothing comes before the first
                of_line += model.surprise(index_of(char))
            model.read(index_of(char))
            count += 1
        total += of_line
        text = line.decode(errors="replace").rstrip("\n")
        print(f"{of_line / math.log(2) / len(line):5.2f}  {text}")
    if count > 1:
        print(f"mean {total / (count - 1):.6f} nats")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: embed.py LIBRARY PROGRAM WEIGHTS < TEXT")
    model = Model(*sys.argv[1:])
    stream(model, sys.stdin.buffer)
    model.close()
