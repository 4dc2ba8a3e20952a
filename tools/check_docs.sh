#!/bin/bash
# Fails when docs/paper_map.md names a file that is not there, or when a shape in a header's comment
# uses a letter that docs/notation.md does not declare.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=0

files=$(grep -oE '`[a-z_]+/[a-z_/0-9.]+`' docs/paper_map.md | tr -d '`' | sort -u)
[ -n "$files" ] || { echo "docs/paper_map.md: names no file"; exit 1; }
for file in $files; do
  [ -e "$file" ] || { echo "docs/paper_map.md: no such file: $file"; bad=1; }
done

declared=$(sed -nE 's/^\| `([A-Z])` \|.*/\1/p' docs/notation.md | tr -d '\n')
[ -n "$declared" ] || { echo "docs/notation.md: declares no letter"; exit 1; }
# Shapes are comma-separated lists in square brackets; a letter counts where it stands alone.
while IFS=: read -r file line text; do
  for letter in $(grep -oE '\[[^]]*\]' <<<"$text" | grep -oE '\b[A-Z]\b' | sort -u); do
    [[ $declared == *$letter* ]] && continue
    echo "$file:$line: shape letter $letter is not in docs/notation.md"
    bad=1
  done
done < <(grep -rnE '//.*\[[A-Z][^]]*[],]' perceiver cli --include='*.h')

for folder in perceiver/tasks/*/; do
  grep -q "$folder" docs/paper_map.md && continue
  echo "docs/paper_map.md: says nothing of $folder"
  bad=1
done
exit $bad
