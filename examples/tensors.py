"""Reading and writing safetensors, for the examples' scripts."""
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


def load(path):
    """The numpy arrays of a file by name."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    dtypes = {tag: dtype for dtype, tag in NAMES.items()}
    return {name: numpy.frombuffer(data[slice(*t["data_offsets"])],
                                   dtypes[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}
