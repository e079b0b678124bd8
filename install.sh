#!/bin/sh
# Installs waggle from a file of make dist, below a directory of yours.
#
#   sh install.sh FILE [--prefix DIR] [--sha256 SUM]
#
# FILE is an archive (waggle-VERSION-OS-ARCH.tar.gz) or a program alone. Its SHA-256 is
# checked first: against --sha256, or against SHA256SUMS beside FILE. DIR is ~/.local
# when neither --prefix nor PREFIX says otherwise. It needs no root and no network.
#
# What it puts there: bin/waggle, completions for bash, zsh and fish, manual pages, and
# share/waggle/installed, the record by which `waggle uninstall` takes it away again.
set -eu

usage="usage: sh install.sh FILE [--prefix DIR] [--sha256 SUM]"

die() { # die MESSAGE [HINT]
	echo "install.sh: $1" >&2
	[ $# -lt 2 ] || echo "      hint: $2" >&2
	exit 1
}

wrong() {
	echo "install.sh: $1" >&2
	echo "$usage" >&2
	exit 2
}

# sum prints the SHA-256 of a file.
sum() {
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum <"$1" | cut -d ' ' -f 1
	elif command -v shasum >/dev/null 2>&1; then
		shasum -a 256 <"$1" | cut -d ' ' -f 1
	elif command -v openssl >/dev/null 2>&1; then
		openssl dgst -sha256 -r <"$1" | cut -d ' ' -f 1
	else
		die "there is no sha256sum, shasum or openssl here: the file cannot be checked"
	fi
}

file='' want='' prefix=${PREFIX-}
while [ $# -gt 0 ]; do
	case $1 in
	--prefix | --sha256)
		[ $# -ge 2 ] || wrong "$1 needs a value"
		if [ "$1" = --prefix ]; then prefix=$2; else want=$2; fi
		shift
		;;
	--prefix=*) prefix=${1#*=} ;;
	--sha256=*) want=${1#*=} ;;
	-h | --help)
		echo "$usage"
		exit 0
		;;
	-*) wrong "unknown flag $1" ;;
	*)
		[ -z "$file" ] || wrong "one FILE, not $file and $1"
		file=$1
		;;
	esac
	shift
done
[ -n "$file" ] || wrong "which file?"
[ -f "$file" ] || die "there is no file $file" "make dist writes them into dist/"
if [ -z "$prefix" ]; then
	[ -n "${HOME-}" ] || die "HOME is not set" "say --prefix DIR"
	prefix=$HOME/.local
fi
case $prefix in
/*) ;;
*) prefix=$(pwd)/$prefix ;;
esac

# Nothing is unpacked or run before the sum is right.
base=$(basename "$file")
if [ -z "$want" ]; then
	sums=$(dirname "$file")/SHA256SUMS
	[ -f "$sums" ] || die "there is no SHA256SUMS beside $file" "fetch it, or say --sha256 SUM"
	want=$(awk -v name="$base" '$2 == name || $2 == "*" name { print $1; exit }' "$sums")
	[ -n "$want" ] || die "$sums has no line for $base" "say --sha256 SUM"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/waggle-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp "$file" "$work/file" # what is checked is what is installed
have=$(sum "$work/file")
want=$(printf %s "$want" | tr 'A-F' 'a-f')
[ "$have" = "$want" ] || die "the SHA-256 of $file is $have, not $want: nothing was installed" "fetch the file again"

from=$work/tree
mkdir "$from"
case $base in
*.tar.gz | *.tgz)
	tar -xzf "$work/file" -C "$from" || die "$file cannot be unpacked"
	set -- "$from"/*/waggle
	[ $# -eq 1 ] && [ -f "$1" ] || die "$file has no program waggle in it" "take an archive of make dist"
	from=$(dirname "$1")
	;;
*) mv "$work/file" "$from/waggle" ;;
esac
[ ! -L "$from/waggle" ] || die "the program in $file is a link"
chmod 755 "$from/waggle"
answer=$("$from/waggle" version 2>"$work/said") ||
	die "the program does not run here ($(uname -s) $(uname -m)): $(head -n 1 "$work/said")" "take the file for this system"

version=$(printf '%s' "$answer" | cut -d ' ' -f 2)

# A program alone writes its own completions; manual pages come with an archive.
mkdir -p "$from/completions"
for shell in bash zsh fish; do
	case $shell in
	bash) out=waggle.bash ;;
	zsh) out=_waggle ;;
	fish) out=waggle.fish ;;
	esac
	[ -f "$from/completions/$out" ] || "$from/waggle" completion "$shell" >"$from/completions/$out" ||
		die "the program does not write completions for $shell"
done

# What is there and is not ours stays.
record=$prefix/share/waggle/installed
if [ ! -f "$record" ] && { [ -e "$prefix/bin/waggle" ] || [ -L "$prefix/bin/waggle" ]; }; then
	die "$prefix/bin/waggle is there, and install.sh has not put it there" "move it away, or say --prefix DIR"
fi

new=$work/record
{
	echo "waggle-install 1"
	echo "version $version"
} >"$new"
# Directories that an earlier install made are still ours to remove.
[ ! -f "$record" ] || sed -n '/^dir /p' "$record" >>"$new"

# directory makes a directory below the prefix and writes down which ones are new.
directory() {
	case $1 in
	*/*) directory "${1%/*}" ;;
	esac
	[ -d "$prefix/$1" ] && return
	mkdir "$prefix/$1" 2>"$work/said" || die "$prefix/$1 cannot be made: $(head -n 1 "$work/said")" "say --prefix DIR with a directory of yours"
	echo "dir $1" >>"$new"
}

# plan FILE PATH MODE: a file that will be put there, in the record before it is.
plan() {
	directory "${2%/*}"
	echo "file $(sum "$1") $2" >>"$new"
	printf '%s\n' "$3 $2" "$1" >>"$work/list"
}

# put FILE PATH MODE: a file changes whole, so a running program keeps its own.
put() {
	part=$prefix/${2%/*}/.waggle-install.$$
	{ cp "$1" "$part" && chmod "$3" "$part" && mv -f "$part" "$prefix/$2"; } 2>"$work/said" || {
		rm -f "$part"
		die "$prefix/$2 cannot be written: $(head -n 1 "$work/said")" "say --prefix DIR with a directory of yours"
	}
}

mkdir -p "$prefix" 2>"$work/said" || die "$prefix cannot be made: $(head -n 1 "$work/said")" "say --prefix DIR with a directory of yours"
old=$work/old
: >"$old"
[ ! -f "$record" ] || cp "$record" "$old"
directory share/waggle
plan "$from/waggle" bin/waggle 755
plan "$from/completions/waggle.bash" share/bash-completion/completions/waggle 644
plan "$from/completions/_waggle" share/zsh/site-functions/_waggle 644
plan "$from/completions/waggle.fish" share/fish/vendor_completions.d/waggle.fish 644
pages=0
for page in "$from"/man/man1/*.1; do
	[ -f "$page" ] || continue
	plan "$page" "share/man/man1/$(basename "$page")" 644
	pages=$((pages + 1))
done

# The record comes first: what an install leaves that is broken off can be taken away.
put "$new" share/waggle/installed 644
while read -r mode path && read -r source; do
	put "$source" "$path" "$mode"
done <"$work/list"

# What the install before had and this one has not goes, unless somebody has changed it.
gone=$work/gone
: >"$gone"
sed -n 's/^file //p' "$old" | while read -r was path; do
	case $path in
	bin/* | share/*) ;;
	*) continue ;;
	esac
	case /$path/ in */../*) continue ;; esac
	if ! grep -q " $path\$" "$new" && [ -f "$prefix/$path" ] && [ "$(sum "$prefix/$path")" = "$was" ]; then
		rm -f "$prefix/$path"
		echo "$path" >>"$gone"
	fi
done

echo "installed $version"
echo "  $prefix/bin/waggle"
echo "  completions for bash, zsh and fish below $prefix/share"
if [ "$pages" -gt 0 ]; then
	echo "  $pages manual pages in $prefix/share/man/man1"
else
	echo "  no manual pages: they come with an archive"
fi
[ ! -s "$gone" ] || echo "  removed $(($(wc -l <"$gone"))) files of the install before that this one does not have"
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "  $prefix/bin is not in PATH: add it" ;;
esac
echo "waggle uninstall removes all of it"
