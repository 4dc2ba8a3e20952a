#!/usr/bin/env bash
# tools/ccache.sh COMPILER ...: compiles through ccache, so that a clone in another folder finds the
# objects again: paths are taken relative to the clone, and its folder is no part of the key. The
# sloppiness is what precompiled headers need. The language of messages is part of the key, so there
# is one. An old precompiled header is removed first: the compiler would read it instead of the
# headers and write another one than it does in a fresh clone.
set -euo pipefail
root=${BASH_SOURCE[0]%/tools/*}
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
unset LC_ALL LC_CTYPE LC_MESSAGES
export LANG=C.UTF-8
for argument; do
  [[ $argument != *.gch ]] || rm -f -- "$argument"
done
exec ccache "$@"
