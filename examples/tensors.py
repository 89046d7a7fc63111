"""Writing safetensors, for the scripts that make the examples' weights."""
import json
import struct

import numpy

NAMES = {"float32": "F32", "int32": "I32", "int64": "I64", "uint8": "U8"}


def save(path, tensors):
    """Writes numpy arrays (or what becomes one) by name."""
    header, blobs, at = {}, [], 0
    for name, value in tensors.items():
        array = numpy.asarray(value)
        blob = array.tobytes()
        header[name] = {"dtype": NAMES[str(array.dtype)],
                        "shape": list(array.shape),
                        "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
