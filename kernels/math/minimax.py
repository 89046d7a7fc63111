#!/usr/bin/env python3
"""Prints the polynomial coefficients used by kernels/math.

Each row of TABLES is: name, float or double, the function, the weight that
makes the error relative to the final result, the interval, the number of
terms. POWERS: name, and the function of i / 16 for i from 0 to 15. Remez's
exchange in 120 digits (mpmath); coefficients are then rounded
to the element type. `minimax.py NAME...` prints some tables, without names
all. The error printed is log2 of the largest weighted one, before rounding.
"""
import struct
import sys

from mpmath import (mp, mpf, matrix, lu_solve, exp, expm1, log, log1p, sin, cos,
                    tan, asin, atan, tanh, erf, erfc, sqrt, pi, findroot, sign)

mp.dps = 120
TINY = mpf(10) ** -24


def polynomial(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def remez(f, weight, low, high, terms):
    """Coefficients of the polynomial that minimises |weight * (f - p)|."""
    count = terms + 1
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / terms)
              for i in range(count)]
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / (24 * count))
            for i in range(24 * count + 1)]
    samples = [(x, f(x), weight(x)) for x in grid]
    worst = mpf(0)
    for _ in range(12):
        system = matrix(count, count)
        right = matrix(count, 1)
        for i, x in enumerate(points):
            for j in range(terms):
                system[i, j] = x ** j
            system[i, terms] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = lu_solve(system, right)
        coefficients = [solution[j] for j in range(terms)]
        errors = [(w * (y - polynomial(coefficients, x)), x)
                  for x, y, w in samples]
        extremes = [errors[0]]
        for error in errors[1:]:
            if sign(error[0]) == sign(extremes[-1][0]):
                extremes[-1] = max(extremes[-1], error,
                                   key=lambda e: abs(e[0]))
            else:
                extremes.append(error)
        while len(extremes) > count:
            ends = (extremes[0], extremes[-1])
            extremes.pop(0 if abs(ends[0][0]) < abs(ends[1][0]) else -1)
        worst = max(abs(e[0]) for e in extremes)
        if len(extremes) < count or \
                worst - min(abs(e[0]) for e in extremes) < worst / 1000:
            break
        points = [e[1] for e in extremes]
    return coefficients, worst


def in_square(g):
    """g as a function of the square of its argument, removable zeros filled."""
    return lambda z: g(sqrt(z if z > TINY else TINY))


def beside_zero(g):
    return lambda x: g(x if abs(x) > TINY else TINY)


def odd_tail(f):
    """f(x) = x + x^3 p(x^2)"""
    return in_square(lambda x: (f(x) - x) / x ** 3)


def odd_weight(f):
    return in_square(lambda x: x ** 3 / f(x))


def erfcx_mapped(t):
    x = 2 * (1 + t) / (1 - t)
    return (1 + 2 * x) * exp(x * x) * erfc(x)


def exp_row(name, kind, terms, first, result, half=log(2) / 2):
    head = {2: lambda r: 1 + r, 3: lambda r: 1 + r + r * r / 2}[first]
    return (name, kind,
            beside_zero(lambda r: (exp(r) - head(r)) / r ** first),
            beside_zero(lambda r: r ** first / abs(result(r))),
            -half, half, terms)


def log_row(name, base):
    return (name, "f",
            beside_zero(lambda f: (log1p(f) - f) / f ** 2 / log(base)),
            beside_zero(lambda f: f ** 2 * log(base) / log1p(f)),
            mpf(-1) / 4, mpf(1) / 2, 10)


def odd_row(name, kind, f, high, terms):
    return (name, kind, odd_tail(f), odd_weight(f), mpf(0), high ** 2, terms)


QUARTER = pi / 4

# With it the 16 numbers of f32_exp2_bend all lie within a fifth of an ulp of a
# float; of such c in [0.75, 0.86] the one that gives sigmoid the least error.
BEND = mpf(13611155) / 2 ** 24
POWERS = [
    ("f32_exp2", lambda s: mpf(2) ** s),
    ("f32_exp2_bend", lambda s: BEND * mpf(2) ** s / (1 + s)),
]

TABLES = [
    exp_row("f32_exp", "f", 2, 2, exp, log(2) / 32 * (1 + mpf(2) ** -12)),
    log_row("f32_log", exp(1)),
    log_row("f32_log2", mpf(2)),
    log_row("f32_log10", mpf(10)),
    odd_row("f32_tanh", "f", tanh, mpf("0.65"), 5),
    odd_row("f32_atan", "f", atan, mpf(1), 9),
    ("f32_erf_small", "f", in_square(lambda x: erf(x) / x - 1),
     in_square(lambda x: x / erf(x)), mpf(0), mpf("0.93") ** 2, 7),
    ("f32_erf_large", "f", lambda x: log(erfc(x) / BEND),
     lambda x: erfc(x) / erf(x),
     mpf("0.92"), mpf(4), 8),
    exp_row("wide_exp", "d", 8, 2, exp),
    odd_row("wide_sin", "d", sin, QUARTER, 4),
    ("wide_cos", "d", in_square(lambda x: (cos(x) - 1 + x * x / 2) / x ** 4),
     in_square(lambda x: x ** 4 / cos(x)), mpf(0), QUARTER ** 2, 4),
    odd_row("wide_tan", "d", tan, QUARTER, 9),
    odd_row("wide_asin", "d", asin, mpf("0.5"), 8),
    ("wide_log", "d", in_square(lambda s: (log1p(s) - log1p(-s) - 2 * s)
                                / s ** 3),
     in_square(lambda s: s ** 2), mpf(0), mpf("0.1716") ** 2, 5),
    exp_row("f64_exp", "d", 10, 3, expm1),
    odd_row("f64_sin", "d", sin, QUARTER, 6),
    ("f64_cos", "d", in_square(lambda x: (cos(x) - 1 + x * x / 2) / x ** 4),
     in_square(lambda x: x ** 4 / cos(x)), mpf(0), QUARTER ** 2, 6),
    odd_row("f64_asin", "d", asin, mpf("0.5"), 13),
    odd_row("f64_atan", "d", atan, mpf("0.41422"), 12),
    ("f64_log", "d",
     in_square(lambda s: ((log1p(s) - log1p(-s)) / s - 2 - 2 * s ** 2 / 3
                          - 2 * s ** 4 / 5) / s ** 6),
     in_square(lambda s: s ** 6), mpf(0), mpf("0.1716") ** 2, 7),
    ("f64_erf_small", "d", in_square(lambda x: erf(x) / x - 1),
     in_square(lambda x: x / erf(x)), mpf(0), mpf("0.86") ** 2, 13),
    ("f64_erfcx", "d", erfcx_mapped, lambda t: 1 / erfcx_mapped(t),
     mpf("-0.41"), mpf("0.51"), 17),
]


def rounded(kind, c):
    if kind == "d":
        return float(c).hex()
    return float(struct.unpack("f", struct.pack("f", float(c)))[0]).hex() + "f"


def trimmed(text):
    """float.hex() without trailing zeros of the mantissa."""
    mantissa, _, exponent = text.partition("p")
    return mantissa.rstrip("0").rstrip(".") + "p" + exponent


def is_wanted(name):
    return len(sys.argv) == 1 or name in sys.argv[1:]


def main():
    for name, f in POWERS:
        if is_wanted(name):
            print(f"{name}:")
            for i in range(16):
                print(f"  {trimmed(rounded('f', f(mpf(i) / 16)))},")
    for name, kind, f, weight, low, high, terms in TABLES:
        if not is_wanted(name):
            continue
        coefficients, worst = remez(f, weight, low, high, terms)
        print(f"{name}: 2^{float(log(worst, 2)):.1f}")
        for c in coefficients:
            print(f"  {trimmed(rounded(kind, c))},")


if __name__ == "__main__":
    main()
