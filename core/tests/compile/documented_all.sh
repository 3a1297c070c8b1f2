#!/bin/sh
# documented_all.sh PAGE HEADER...: the examples of a page use every macro, function and class that the headers offer.
# Not looked for: members, operators, what is in namespace detail or ends with an underscore, and base classes.
set -eu
page=$1
shift
code=$(mktemp)
trap 'rm -f "$code"' EXIT
awk '/^```/ { inside = /^```c/; next } inside' "$page" > "$code"
names=$(awk '
  /^namespace (telltale::)?detail/ || /^namespace asio/ { hidden = 1 }
  /^}  \/\/ namespace (telltale::)?(detail|asio)/ { hidden = 0 }
  hidden || /^ / || /operator/ || /::.*\(.*\) noexcept \{/ { next }
  /^#define TELLTALE_[A-Z_]+/ { sub(/\(.*/, "", $2); print $2; next }
  /^TELLTALE_API / && !/;/ { line = $0; next }
  /^(TELLTALE_EXPORT|TELLTALE_API|inline|constexpr|auto|void|\[\[nodiscard\]\]) .*\(/ {
    sub(/\(.*/, ""); sub(/.*[ *&]/, ""); print; next
  }
  /^class / { sub(/ (final|:|\{).*/, ""); sub(/[;<].*/, ""); sub(/.* /, ""); print }
' "$@" | grep -Ev '_$|^(instrument|scope|span|source_file|TELLTALE_(H|API|EXPORT|CONCAT))$' | sort -u)
missing=0
for name in $names; do
  grep -qw -- "$name" "$code" || { echo "$page has no example of $name"; missing=1; }
done
exit $missing
