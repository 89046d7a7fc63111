#!/bin/sh
# The programs below tests/ and the examples in the manual, each with what is
# expected of it in comments; `make test` names the files.  Pages of examples
# that train a model take seconds in release and minutes in slow builds, where
# they are left out: train.t, learn.t and gradcheck.t run the kernels of
# training there.
if [ "${MODE:-release}" != release ]; then
  train=$(grep -l 'rly train' examples/*/README.md)
  RLY_TESTS=$(printf '%s\n' $RLY_TESTS | grep -vxF "$train")
fi
exec "$RLY" test --shell $RLY_TESTS
