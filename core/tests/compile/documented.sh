#!/bin/sh
# documented.sh cpp|c PAGE HEADING COMPILER ARGUMENT...: each block of C++ (or C) under a heading of a page compiles by
# itself, as it stands there.
set -eu
language=$1
page=$2
heading=$3
shift 3
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT
awk -v heading="## $heading" -v fence="\`\`\`$language" -v to="$blocks" '
  /^## / { here = $0 == heading }
  /^```/ { inside = here && $0 == fence; file = to "/" ++n "." substr(fence, 4); next }
  inside { print > file }' "$page"
[ -n "$(ls "$blocks")" ] || { echo "$page has no $language under \"$heading\""; exit 1; }
case $language in c) standard=c11 ;; *) standard=c++20 ;; esac
for block in "$blocks"/*; do
  "$@" -std=$standard -fsyntax-only -Wall -Wextra -Werror "$block"
done
