#!/usr/bin/env bash
# tools/package_test.sh [ARCHIVE.tar.zst] [PACKAGE.deb]: unpacks what `make package` left in dist/
# into roots that have the C library and nothing else, and runs the program there. Needs to be root,
# or a system that lets users have namespaces of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
archive=${1:-$(ls -t dist/*.tar.zst | head -n 1)}
package=${2:-$(ls -t dist/*.deb | head -n 1)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "package_test: $*" >&2
  exit 1
}

# A root with the files of the C library's package, which the loader is one of, and empty folders.
bare_root() {
  local root=$1 file
  mkdir -p "$root"/{proc,dev,tmp,root,usr/lib,usr/bin}
  ln -s usr/lib "$root/lib"
  ln -s usr/bin "$root/bin"
  dpkg-query -L libc6 | grep -E '\.so(\.|$)' | while read -r file; do
    [[ -f $file ]] || continue
    mkdir -p "$root/usr/${file#/usr}"
    rmdir "$root/usr/${file#/usr}"
    cp "$file" "$root/usr/${file#/usr}"
  done
  mkdir -p "$root/lib64"
  cp -L /lib64/ld-linux-*.so.* "$root/lib64" 2>/dev/null || rmdir "$root/lib64"
}

# in_root ROOT COMMAND...: with nothing of this machine but the kernel.
in_root() {
  local root=$1
  shift
  unshare --user --map-root-user --mount --pid --fork sh -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && root=$1 && shift && exec env -i PATH="$PATH:/usr/sbin" HOME=/root chroot "$root" "$@"
    ' sh "$root" "$@"
}

check() {
  local root=$1 program=$2
  echo "package_test: $program, $(du -sh "$root" | cut -f1) unpacked"
  in_root "$root" /lib64/ld-linux-x86-64.so.2 --list "$program" >"$work/libraries"
  ! grep 'not found' "$work/libraries" || fail "a library is missing"
  ! grep -F "$PWD" "$work/libraries" || fail "a library of this clone is used"
  ! readelf -d "$root$program" | grep -F "$PWD" || fail "the program looks into this clone"
  in_root "$root" "$program" --version | head -n 1
  in_root "$root" "$program" doctor >"$work/doctor" || fail "doctor finds a fault"
  grep -q '^  FFmpeg  *[0-9]' "$work/doctor" || fail "FFmpeg is not found: $(cat "$work/doctor")"
  in_root "$root" "$program" flow -q "${program%/bin/*}/share/perceiver/samples/clip.avi" \
    -o /tmp/flow.mp4 >/dev/null || fail "no flow of a clip"
  in_root "$root" "$program" demo -q -o /tmp/demo >"$work/demo" || fail "the demo does not run"
  [[ -s $root/tmp/demo/index.html ]] || fail "the demo leaves no page"
  local file
  for file in man/man1/perceiver.1 bash-completion/completions/perceiver \
    zsh/site-functions/_perceiver fish/vendor_completions.d/perceiver.fish; do
    [[ -s $root${program%/bin/*}/share/$file ]] || fail "no $file"
  done
}

bare_root "$work/unpacked"
mkdir -p "$work/unpacked/somewhere/else"
tar -C "$work/unpacked/somewhere/else" --strip-components=1 -xf "$archive"
check "$work/unpacked" /somewhere/else/bin/perceiver
rm -rf "$work/unpacked"

bare_root "$work/installed"
dpkg-deb -x "$package" "$work/installed.d"
cp -a "$work/installed.d/usr/." "$work/installed/usr/"
rm -rf "$work/installed.d"
depends=$(dpkg-deb -f "$package" Depends)
[[ $depends == libc6* && $depends != *,* ]] || fail "$package asks for more than libc6: $depends"
check "$work/installed" /usr/bin/perceiver
echo "package_test: $(basename "$archive") ($(du -h "$archive" | cut -f1)) and" \
  "$(basename "$package") ($(du -h "$package" | cut -f1)) run where there is only the C library"
