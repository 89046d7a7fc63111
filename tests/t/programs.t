#!/bin/sh
# The programs below tests/ and the examples in the manual, each with what is
# expected of it in comments; `make test` names the files.  Pages write files
# where their commands run: in a folder of its own, with links to what lies at
# the top of the tree.
case $RLY in /*) ;; *) RLY=$PWD/$RLY ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
ln -s "$PWD"/* "$dir" && cd "$dir" && "$RLY" test --shell $RLY_TESTS
