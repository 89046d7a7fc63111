"""Makes boxes.safetensors, and prints which boxes stay, by a brute force that
shares nothing with shapes.rly: a box is hidden when any better one that stays
overlaps it, tried over all pairs.

    python3 examples/shapes/make.py
"""
import os
import sys

import numpy

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from tensors import save  # noqa: E402


def overlap(a, b):
    inside = [max(0, min(a[i + 2], b[i + 2]) - max(a[i], b[i]))
              for i in range(2)]
    areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
    both = inside[0] * inside[1]
    return both / (sum(areas) - both)


random = numpy.random.RandomState(6)
corner = random.randint(0, 60, (40, 2))
boxes = numpy.concatenate([corner, corner + random.randint(8, 40, (40, 2))], 1)
scores = random.permutation(40) / 40

save(os.path.join(FOLDER, "boxes.safetensors"),
     {"boxes": boxes.astype("float32"), "scores": scores.astype("float32")})
for limit in (0.5, 0.3):
    stays = []
    for i in sorted(range(40), key=lambda i: -scores[i]):
        if all(overlap(boxes[i], boxes[j]) <= limit for j in stays):
            stays.append(i)
    print(stays)
