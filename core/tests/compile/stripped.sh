#!/bin/sh
# stripped.sh OBJDUMP STRINGS COMPILER ARGUMENT...: what is above the level leaves neither instruction nor string.
set -eu
objdump=$1
strings=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$@" -std=c++20 -O2 -c -DWITH_LINES -o "$dir/with.o"
"$@" -std=c++20 -O2 -c -o "$dir/without.o"
for version in with without; do
  "$objdump" -d --no-show-raw-insn "$dir/$version.o" | grep -v 'file format' > "$dir/$version.txt"
done
grep -q '<work>:' "$dir/with.txt"
diff "$dir/with.txt" "$dir/without.txt"
if "$strings" -a "$dir/with.o" | grep stripped_\\\|'stripped '; then
  echo "strings of compiled-out lines are in the object"
  exit 1
fi
