#!/usr/bin/env bash
# headers_compile_alone.sh COMPILER INCLUDE_DIR: each header, alone, in both languages, without a warning.
set -uo pipefail
compiler=$1 include=$2 failed=0 count=0
for header in $(cd "$include" && find otolith -name '*.h' | sort); do
  for language in 'c -std=c17' 'c++ -std=c++17'; do
    # shellcheck disable=SC2086
    if ! printf '#include "%s"\n' "$header" |
      "$compiler" -x $language -Wall -Wextra -Werror -ffp-contract=off -fsyntax-only -I "$include" -; then
      echo "$header does not compile alone as ${language%% *}"
      failed=1
    fi
    count=$((count + 1))
  done
done
echo "$count compilations"
[ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
