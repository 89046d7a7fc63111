#!/usr/bin/env python3
"""Derivatives of images read between their elements, as PyTorch and torchvision
have them: writes tests/gradient/sample.rly.

    tests/gradient/sample.py > tests/gradient/sample.rly

Inputs are drawn; the rows are described in torch_rows.py.  Needs torchvision,
too (Debian: python3-torchvision).
"""
import random

import torch
import torch.nn.functional as F
from torchvision.ops import deform_conv2d, roi_align

from torch_rows import write

random.seed(1)


def draw(shape, least, most):
    if not shape:
        return round(random.uniform(least, most), 3)
    return [draw(shape[1:], least, most) for _ in range(shape[0])]


def grid(shape, method, padding, corners):
    dims = len(shape) - 2
    last = [0, *range(2, dims + 2), 1]
    where = f"method=\"{method}\", padding_mode=\"{padding}\", " \
            f"align_corners={corners}"
    layout = "" if dims == 2 else "layout=\"NCDHW\", "
    points = [shape[0], dims] + [2] * dims
    return (f"grid_sample, {dims} axes, {where}",
            f"image.grid_sample(%x, %y, {layout}{where})",
            lambda x, y: F.grid_sample(x, y.permute(last), method, padding,
                                       corners),
            [draw(shape, -1, 1), draw(points, -1.4, 1.4)])


GRIDS = [grid([1, 2, 3, 4], method, padding, corners)
         for method in ("nearest", "bilinear", "bicubic")
         for padding in ("zeros", "border", "reflection")
         for corners in (True, False)]
VOLUMES = [grid([1, 1, 2, 3, 2], method, padding, True)
           for method in ("nearest", "bilinear")
           for padding in ("zeros", "reflection")]

# Offsets that keep all points within the image: beyond its last element the
# two differ.
DEFORMED = [
    ("deformable_conv2d, groups of both kinds",
     "nn.deformable_conv2d(%x, %y, %z, deformable_groups=2, groups=2, "
     "strides=[2, 1])",
     lambda x, y, z: deform_conv2d(x, y, z, stride=(2, 1)),
     [draw([1, 4, 5, 4], -1, 1), draw([1, 16, 2, 3], 0.1, 0.9),
      draw([2, 2, 2, 2], -1, 1)]),
    ("deformable_conv2d, dilated",
     "nn.deformable_conv2d(%x, %y, %z, dilation=[2, 1])",
     lambda x, y, z: deform_conv2d(x, y, z, dilation=(2, 1)),
     [draw([1, 1, 5, 4], -1, 1), draw([1, 8, 3, 3], 0.1, 0.9),
      draw([1, 1, 2, 2], -1, 1)]),
]

BOXES = [[0, 0.4, 0.3, 3.1, 2.2], [1, -0.5, 1.3, 7.5, 4.2]]
BOXES_TEXT = "[" + ", ".join(
    "[" + ", ".join(f"{v}f64" for v in map(float, b)) + "]"
    for b in BOXES) + "]"
REGIONS = [
    (f"roi_align, {ratio} samples",
     f"vision.roi_align(%x, {BOXES_TEXT}, pooled_size=[2, 3], "
     f"spatial_scale=0.5f, sample_ratio={ratio})",
     lambda x, ratio=ratio: roi_align(
         x, torch.tensor(BOXES, dtype=torch.float64), (2, 3), 0.5, ratio),
     [draw([2, 2, 4, 3], -1, 1)])
    for ratio in (-1, 2)]

write("Images read between their elements", "sample.py",
      GRIDS + VOLUMES + DEFORMED + REGIONS)
