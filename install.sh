#!/bin/sh
#
# Installs the programs `blitz` and `blitz-fastq` of a release, with their man pages and completions, for this
# user: on Linux and macOS, without a compiler. It needs curl or wget, and tar. On Linux without glibc, or with one
# that is too old, it takes the static programs.
#
#     curl -fsSL https://raw.githubusercontent.com/blitz-io/blitz-io/main/install.sh | sh
#
# Downloads the archive for this machine and its checksum, compares them, and copies the files below
# ~/.local. It changes no file of the shell, and needs no root. `--uninstall` removes what it has copied.
#
# Variables:
#   BLITZ_VERSION   the version, such as 0.2.0; by default the newest release
#   BLITZ_PREFIX    the folder to install below; by default ~/.local
#   BLITZ_FROM      the address of the folder with the archives, for a mirror

set -eu

repository=https://github.com/blitz-io/blitz-io
# The oldest one that the archives for glibc run with.
glibc=2.35
prefix=${BLITZ_PREFIX:-$HOME/.local}
list=$prefix/share/blitz-io/installed
# Without the benchmark, whose peers take minutes to build.
source="cargo install --git $repository --locked --no-default-features blitz-io-cli"

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Writes what is at an address to a file.
fetch() {
    if has curl; then
        curl -fsSL "$1" -o "$2"
    elif has wget; then
        wget -q "$1" -O "$2"
    else
        fail "needs curl or wget"
    fi
}

# Prints the newest version: the address of the newest release ends with it.
newest() {
    if has curl; then
        latest=$(curl -fsSLI -o /dev/null -w '%{url_effective}' "$repository/releases/latest") || latest=
    else
        # Also that of busybox, which always follows.
        latest=$(wget -q -S -O /dev/null "$repository/releases/latest" 2>&1 | sed -n 's/^ *[Ll]ocation: //p' | tail -n 1 | tr -d '\r')
    fi
    case $latest in
    */tag/v*) echo "${latest##*/tag/v}" ;;
    *) fail "there is no release yet, or no network. With Rust: $source" ;;
    esac
}

# Returns true if this machine has the glibc that the archives are linked with, or a newer one.
has_glibc() {
    found=$(getconf GNU_LIBC_VERSION 2>/dev/null) || return 1
    found=${found#glibc 2.}
    [ "${found%%.*}" -ge "${glibc#2.}" ] 2>/dev/null
}

# Prints the target of this machine, as the archives name it.
target() {
    case $(uname -s) in
    Linux) if has_glibc; then system=unknown-linux-gnu; else system=unknown-linux-musl; fi ;;
    Darwin) system=apple-darwin ;;
    *) fail "there is no archive for $(uname -s); see $repository/blob/main/book/src/start/install.md" ;;
    esac
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no archive for $(uname -m); with Rust: $source" ;;
    esac
    if [ "$processor-$system" = aarch64-unknown-linux-musl ]; then
        fail "the archive for 64-bit Arm needs glibc $glibc or newer; with Rust: $source"
    fi
    echo "$processor-$system"
}

# Says what is different on this system.
note() {
    case $1 in
    *-linux-musl) echo "no glibc $glibc or newer here: these are the static programs" ;;
    *-apple-darwin) echo "macOS: type-checked, not run yet; see $repository/blob/main/book/src/start/install.md#platforms" ;;
    esac
}

# Compares a file with its checksum, in the current folder.
verify() {
    if has sha256sum; then
        sha256sum -c "$1" >/dev/null 2>&1
    else
        shasum -a 256 -c "$1" >/dev/null 2>&1
    fi || fail "the archive is not the one that its checksum names"
}

# Copies a file below the prefix, and notes it.
put() {
    mkdir -p "$prefix/$(dirname "$2")"
    # A running program keeps the old file.
    cp "$1" "$prefix/$2.new"
    mv -f "$prefix/$2.new" "$prefix/$2"
    echo "$2" >>"$list"
}

usage() {
    cat <<END
usage: sh install.sh [--uninstall]

Installs blitz and blitz-fastq below ~/.local, without root. It needs curl or wget, and tar.
  --uninstall     removes what it has copied

  BLITZ_VERSION   the version, such as 0.2.0; by default the newest release
  BLITZ_PREFIX    the folder to install below; by default ~/.local
  BLITZ_FROM      the address of the folder with the archives, for a mirror
END
}

uninstall() {
    [ -f "$list" ] || fail "nothing of it is installed below $prefix"
    while read -r file; do rm -f "$prefix/$file"; done <"$list"
    rm -f "$list"
    rmdir "$prefix/share/blitz-io" 2>/dev/null || true
    echo "removed from $prefix"
}

install() {
    machine=$(target)
    version=${BLITZ_VERSION:-$(newest)}
    name=blitz-io-$version-$machine
    from=${BLITZ_FROM:-$repository/releases/download/v$version}
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    echo "$from/$name.tar.gz"
    fetch "$from/$name.tar.gz" "$work/$name.tar.gz" || fail "the archive cannot be downloaded"
    fetch "$from/$name.tar.gz.sha256" "$work/$name.tar.gz.sha256" || fail "its checksum cannot be downloaded"
    (cd "$work" && verify "$name.tar.gz.sha256")
    tar -C "$work" -xzf "$work/$name.tar.gz"
    mkdir -p "${list%/*}"
    : >"$list"
    for program in blitz blitz-fastq; do put "$work/$name/$program" "bin/$program"; done
    for page in "$work/$name"/man/*.1; do put "$page" "share/man/man1/${page##*/}"; done
    put "$work/$name/completions/blitz.bash" share/bash-completion/completions/blitz
    put "$work/$name/completions/blitz.fish" share/fish/vendor_completions.d/blitz.fish
    put "$work/$name/completions/blitz.zsh" share/zsh/site-functions/_blitz
    "$prefix/bin/blitz" --version
    note "$machine"
    case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "add $prefix/bin to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
}

# This is the last thing in the file, so a download that breaks off runs nothing.
case ${1:-} in
--uninstall) uninstall ;;
-h | --help) usage ;;
'') install ;;
*) fail "unknown argument: $1; sh install.sh --help lists what there is" ;;
esac
