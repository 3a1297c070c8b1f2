#!/bin/sh
# refused.sh PHRASE COMPILER ARGUMENT...: passes when the compiler refuses its input and says PHRASE.
phrase=$1
shift
if output=$(LC_ALL=C "$@" -std=c++20 -fsyntax-only 2>&1); then
  echo "it compiled"
  exit 1
fi
case $output in
  *"$phrase"*) exit 0 ;;
esac
echo "refused, but without the words \"$phrase\":"
echo "$output"
exit 1
