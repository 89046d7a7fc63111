#!/bin/sh
# The programs below tests/ and the examples in the manual, each with what is
# expected of it in comments; `make test` names the files.
exec "$RLY" test --shell $RLY_TESTS
