#!/usr/bin/env bash
# Fails when a file includes what its folder may not, or two headers define the same name.
set -euo pipefail
cd "$(dirname "$0")/.."

# The order of the folders: what each may include, besides itself.
declare -A may=(
  [core]=""
  [kernels]="core"
  [weights]="core"
  [media]="core"
  [optim]="core kernels"
  [nn]="core kernels"
  [model]="core kernels nn"
  [data]="core"
  [ranks]="core"
  [modalities]="core nn model"
  [tasks]="core kernels nn model weights media data modalities"
  [zoo]="core nn model weights modalities tasks"
  [train]="core kernels data nn ranks weights tasks optim zoo"
  [results]="core tasks"  # tasks: its test, which reads every config that a claim names
  [bench]="core nn model weights tasks zoo train"
  [http]="core"
  [page]="core http"
  [serve]="core kernels model weights media modalities tasks zoo http page"
  [perceiver.h]="core media tasks zoo"  # the header that has what a user needs
)
bad=0
complain() {
  echo "$*"
  bad=1
}

# path:line:#include of every header in <> or "" under perceiver/
while IFS=: read -r file line include; do
  IFS=/ read -r _ folder task _ <<<"$file"
  included=$(sed -E 's/^[^"<]*["<]([^">]*).*/\1/' <<<"$include")

  if [[ $file == *.h && $included == torch/torch.h ]]; then
    complain "$file:$line: a header may not include torch/torch.h (11 s a file); take a lighter one"
  fi

  IFS=/ read -r top used used_task _ <<<"$included"
  [[ $top == perceiver || $top == cli ]] || continue
  if [[ ! -v may[$folder] ]]; then
    complain "$file:$line: folder $folder is not in the table of tools/check_includes.sh"
  elif [[ $top == cli ]]; then
    complain "$file:$line: $folder may not include cli (may: ${may[$folder]:-nothing})"
  elif [[ " $folder ${may[$folder]} " != *" $used "* ]]; then
    complain "$file:$line: $folder may not include $used (may: ${may[$folder]:-nothing})"
  elif [[ $folder == tasks && $used == tasks && -d perceiver/tasks/$task &&
          -d perceiver/tasks/$used_task && $task != "$used_task" ]]; then
    complain "$file:$line: task $task may not include task $used_task;" \
      "what both need belongs in modalities or model"
  fi
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<](perceiver/|cli/|torch/torch\.h)' \
           perceiver --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh')

# One flat namespace: two types of one name link without a word, and crash.
while read -r name; do
  complain "two headers define $name:" \
    $(grep -rlE "^((struct|class|enum class) $name\b[^;]*|using $name =.*)$" perceiver cli --include='*.h')
done < <(grep -rhE '^((struct|class|enum class) [A-Z][A-Za-z0-9]*\b[^;]*|using [A-Z][A-Za-z0-9]* =.*)$' \
           perceiver cli --include='*.h' |
           sed -E 's/^(struct|class|enum class|using) ([A-Za-z0-9]+).*/\2/' | sort | uniq -d)
exit $bad
