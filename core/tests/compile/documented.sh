#!/bin/sh
# documented.sh PAGE HEADING COMPILER ARGUMENT...: the C++ under a heading of a page compiles as it stands there.
set -eu
page=$1
heading=$2
shift 2
code=$(mktemp --suffix=.cpp)
trap 'rm -f "$code"' EXIT
awk -v heading="## $heading" '
  /^## / { here = $0 == heading }
  /^```/ { inside = here && $0 == "```cpp"; next }
  inside { print }' "$page" > "$code"
[ -s "$code" ] || { echo "$page has no C++ under \"$heading\""; exit 1; }
"$@" -std=c++20 -fsyntax-only -Wall -Wextra -Werror "$code"
