#!/bin/sh
# The programs below tests/ and the examples in the manual, each with what is
# expected of it in comments; `make test` names the files.  The pages of the
# examples train models, which takes seconds in release and minutes in slow
# builds; train.t, learn.t and gradcheck.t take the same kernels there.
[ "${MODE:-release}" = release ] ||
  RLY_TESTS=$(printf '%s\n' $RLY_TESTS | grep -v '^examples/')
exec "$RLY" test --shell $RLY_TESTS
