#!/usr/bin/env bash
# Builds the servers and tools that tests, demo and Makefile run, from Go modules pinned in the folders beside this
# file, into a cache that all clones share. Nothing but the finished programs stays on the machine. See README.md.
#
# Usage: hack/tools/build.sh [--source] [tool...]     a tool is a folder beside this file; default: all of them
#
# A server that is there already, in the pinned version, is not built: one in the folder KUBEBUILDER_ASSETS, or else on PATH.
# With --source all are built.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "$here/../.." && pwd)/.tools/bin
cache=${PROVIDER_KCP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/provider-kcp}

# Raise it when a change of this script (a flag, say) must rebuild every tool: it is part of each tool's key.
recipe=3
heartbeat_seconds=10

source=''  # not empty: build what is there, too
scratch='' # this run's temporary folder, once there is one
job=''     # process group of the running build, while there is one
fetcher='' # process group of what downloads modules meanwhile

main() {
	local tool tools known=() missing=()
	[ "${1:-}" != --source ] || { source=' source'; shift; }
	tools=("$@")
	for tool in "$here"/*/tool.env; do
		tool=${tool%/tool.env}
		known+=("${tool##*/}")
	done
	[ $# -gt 0 ] || tools=("${known[@]}")

	command -v go >/dev/null || die 'Go is needed to build the tools, and is not on PATH'
	mkdir -p "$cache/tools" "$bin"
	for tool in "${tools[@]}"; do
		[ -f "$here/$tool/tool.env" ] || die "unknown tool $tool; there are: ${known[*]}"
		is_built "$tool" || missing+=("$tool")
	done
	[ ${#missing[@]} -eq 0 ] || build_all "${missing[@]}"
	for tool in "${tools[@]}"; do link "$tool"; done
}

say() { printf 'tools: %s\n' "$*" >&2; }

die() {
	say "$*"
	exit 1
}

# home_of prints the folder of a tool's programs. Its name holds a hash of all that decides what they are, so that a
# moved pin is a new folder and a clone at an older commit keeps the one it knows.
home_of() {
	local key
	key=$(cd "$here/$1" && {
		echo "$recipe$source"
		GOTOOLCHAIN=local go env GOVERSION GOHOSTOS GOHOSTARCH
		sha256 ./*
	} | sha256)
	echo "$cache/tools/$1-${key:0:12}"
}

# is_built reports whether all programs of a tool are in its folder. One that was taken from elsewhere may be gone there.
is_built() {
	local PROGRAMS='' program home
	# shellcheck source=/dev/null
	. "$here/$1/tool.env"
	home=$(home_of "$1")
	for program in $PROGRAMS; do [ -x "$home/${program%%=*}" ] || return 1; done
}

# find_present prints the path of a program of a version that is there already.
find_present() {
	local program=$1 version=$2 path said
	for path in ${KUBEBUILDER_ASSETS:+"$KUBEBUILDER_ASSETS/$program"} "$(PATH=${PATH//$bin:/} type -P "$program" || true)"; do
		[ -x "$path" ] || continue
		said=$({ "$path" --version || "$path" version --client; } 2>/dev/null | awk 'NR == 1 {print $NF}')
		case $said in
		"$version" | *[v-]"$version")
			realpath "$path"
			return
			;;
		esac
	done
}

# version_of prints the version, without v, of the module that a main package is from, as the go.mod beside it pins it.
version_of() {
	awk -v package="$1" '$1 == "require" {$0 = $2 " " $3} $2 ~ /^v/ && (package "/") ~ "^" $1 "/" {print substr($2, 2)}' go.mod | tail -n 1
}

sha256() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# link makes .tools/bin point to the current programs of a tool. A rename replaces a link in one step: a script that
# starts the program at the same time finds the old one or the new one, never none.
link() {
	local program to
	for program in "$(home_of "$1")"/*; do
		[ -f "$program" ] || continue # data stay beside the program they belong to
		to=$bin/${program##*/}
		[ "$(readlink "$to" || true)" != "$program" ] || continue
		ln -sf "$program" "$to.$$"
		mv -f "$to.$$" "$to"
	done
}

build_all() {
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	lock
	mkdir -p "$cache/tmp"
	scratch=$(mktemp -d "$cache/tmp/build.XXXXXX")
	set_go_environment

	local tool
	set -m # as in build
	fetch "$@" </dev/null >/dev/null 2>&1 &
	fetcher=$!
	set +m
	for tool in "$@"; do
		is_built "$tool" || build "$tool" # another run may have built it while this one waited
	done
}

# fetch downloads what the tools require, one after the other, so that no build but the first waits for the network. What
# fails here is tried again, and reported, by the build.
fetch() {
	local tool
	for tool in "$@"; do
		(
			cd "$here/$tool"
			# shellcheck source=/dev/null
			. ./tool.env
			# shellcheck disable=SC2046
			go list -deps -tags "${TAGS:-}" $(main_packages)
		) || true
	done
}

# main_packages prints the packages of PROGRAMS.
main_packages() {
	local program
	for program in $PROGRAMS; do echo "${program#*=}"; done
}

# lock lets one run build at a time: two would want twice the memory and disk, and gain nothing on a small machine.
# Whoever holds it may remove what a killed run left. Where there is no flock, two runs do the same work side by side
# and the first to finish wins.
lock() {
	command -v flock >/dev/null || return 0
	exec 9>"$cache/lock"
	if ! flock -n 9; then
		say "another run builds tools in $cache, waiting for it"
		flock 9
	fi
	rm -rf "$cache/tmp"
}

clean_up() {
	trap '' INT TERM HUP # a second Ctrl-C must not stop the removal
	# The whole group: compilers that outlive the go command would go on writing into the folder removed here. They may
	# still do so for a moment after the signal, hence the second try.
	local group
	for group in $job $fetcher; do { kill -KILL -- "-$group" && wait "$group"; } 2>/dev/null || true; done
	[ -z "$scratch" ] || rm -rf "$scratch" 2>/dev/null || { sleep 1 && rm -rf "$scratch"; }
}

# set_go_environment keeps all that a build downloads and compiles in the scratch folder: it is several GB, which
# would otherwise stay in the user's own caches. What these hold already is neither downloaded nor compiled again: the
# tools require much of what the project does, in its versions.
set_go_environment() {
	local proxy downloaded
	seed "$(go env GOCACHE)"
	proxy=$(go env GOPROXY)
	downloaded=$(go env GOMODCACHE)/cache/download
	case $downloaded in
	*[,\|%\ ]*) ;; # has a meaning in GOPROXY or in a URL
	/*) [ ! -d "$downloaded" ] || proxy="file://$downloaded,$proxy" ;;
	esac
	export GOPROXY=$proxy GOMODCACHE=$scratch/modules GOCACHE=$scratch/compiled GOTMPDIR=$scratch

	# readonly: go.mod and go.sum are complete, so nothing is resolved and no checksum database is asked; a sum that is
	# missing fails. modcacherw: rm can remove the module cache. buildvcs: our commit says nothing about the tools.
	export GOFLAGS='-mod=readonly -modcacherw -trimpath -buildvcs=false' GOWORK=off CGO_ENABLED=0

	# A go.mod names the Go that its tool needs, where that is newer.
	export GOTOOLCHAIN=auto

	# The tools run here, also when a caller builds the provider for another system.
	GOOS=$(go env GOHOSTOS) GOARCH=$(go env GOHOSTARCH)
	export GOOS GOARCH
}

# seed begins the build cache with links to what another one holds; what cannot be linked is compiled. Go writes outputs
# under new names. In place it writes which output belongs to what, and takes one that is missing for not compiled; and
# when it has last removed what is old, for which the copy gets a file of its own.
seed() {
	cp -alH "$1" "$scratch/compiled" 2>/dev/null || mkdir -p "$scratch/compiled"
	rm -f "$scratch/compiled/trim.txt"
	date +%s >"$scratch/compiled/trim.txt"
}

# build makes one tool's programs. They appear in the cache by one rename: a folder that is there is complete.
build() {
	local tool=$1 home start=$SECONDS
	local PROGRAMS='' DATA='' LDFLAGS='' TAGS='' COLD='' PATCH=''
	# shellcheck source=/dev/null
	. "$here/$tool/tool.env"
	home=$(home_of "$tool") # before the build: someone may edit the pin meanwhile
	rm -rf "$scratch/out"
	mkdir "$scratch/out"
	: >"$scratch/packages"
	[ -n "$source" ] || take_present
	[ -z "$PROGRAMS" ] || say "building $tool, about $COLD on two cores"

	set -m # gives the job a process group of its own, for clean_up
	(cd "$here/$tool" && compile) </dev/null >"$scratch/log" 2>&1 &
	job=$!
	set +m
	watch_job "$tool" "$start"
	if ! wait "$job"; then
		job=''
		grep -vxF -f "$scratch/packages" "$scratch/log" | grep -v '^go: downloading ' >&2 || true
		die "cannot build $tool"
	fi
	job=''

	# Without flock another run may have been first; its result is as good.
	is_built "$tool" || { rm -rf "$home" && mv "$scratch/out" "$home"; }
	[ -z "$PROGRAMS" ] || say "built $tool in $((SECONDS - start)) s"
}

# take_present links to programs that are there, and leaves in PROGRAMS those to build.
take_present() {
	local program path version left=''
	for program in $PROGRAMS; do
		version=$(cd "$here/$tool" && version_of "${program#*=}")
		path=$(find_present "${program%%=*}" "$version")
		if [ -n "$path" ]; then
			say "taking ${program%%=*} $version from $path"
			ln -s "$path" "$scratch/out/${program%%=*}"
		else
			left+=" $program"
		fi
	done
	PROGRAMS=$left
}

# compile builds PROGRAMS and copies DATA. With -v go prints the name of each package that it compiles, for watch_job to count. What only
# debuggers read, and the linker would leave out, takes the compiler a tenth of its time, and collecting garbage often a fifth.
compile() {
	local program data from packages
	[ -n "$PROGRAMS" ] || return 0
	patch_modules
	# shellcheck disable=SC2207
	packages=($(main_packages))
	go list -deps -tags "$TAGS" "${packages[@]}" >"$scratch/packages.new" # downloads what is missing
	mv "$scratch/packages.new" "$scratch/packages"
	mkdir "$scratch/linked"
	GOGC=${GOGC:-400} go build -v -tags "$TAGS" -gcflags=all=-dwarf=false -ldflags "-s -w $LDFLAGS" -o "$scratch/linked/" "${packages[@]}" # all in one, as each linker has one thread
	for program in $PROGRAMS; do
		from=$(go list -f '{{.Target}}' "${program#*=}")
		mv "$scratch/linked/${from##*/}" "$scratch/out/${program%%=*}"
	done
	rmdir "$scratch/linked"
	for data in $DATA; do
		from=${data#*=}
		cp -R "$(go list -m -f '{{.Dir}}' "${from%%:*}")/${from#*:}" "$scratch/out/${data%%=*}"
	done
}

# patch_modules has the build read copies of modules, each with a file that is edited by sed or, without an edit, one of ours, as PATCH says.
patch_modules() {
	local module file edit copy
	[ -n "$PATCH" ] || return 0
	rm -rf "$scratch/patched"
	mkdir "$scratch/patched"
	cp go.mod go.sum "$scratch/patched/"
	while read -r module file edit; do
		[ -n "$module" ] || continue
		copy=$scratch/patched/$module
		go mod download "$module"
		mkdir -p "$copy"
		cp -R "$(go list -m -f '{{.Dir}}' "$module")/." "$copy"
		chmod -R u+w "$copy"
		if [ -n "$edit" ]; then
			sed "$edit" "$copy/$file" >"$scratch/patched/edited"
			mv "$scratch/patched/edited" "$copy/$file"
		else
			cp "${file##*/}" "$copy/$file"
		fi
		go mod edit -replace="$module=$copy" "$scratch/patched/go.mod"
	done <<<"$PATCH"
	export GOFLAGS="$GOFLAGS -modfile=$scratch/patched/go.mod"
}

# watch_job says now and then how far the build is, until it ends.
watch_job() {
	local tool=$1 start=$2 next=$((SECONDS + heartbeat_seconds)) all
	while kill -0 "$job" 2>/dev/null; do
		sleep 0.3
		[ "$SECONDS" -ge "$next" ] || continue
		next=$((SECONDS + heartbeat_seconds))
		all=$(($(wc -l <"$scratch/packages")))
		if [ "$all" -eq 0 ]; then
			say "  $tool: $((SECONDS - start)) s, $(grep -c '^go: downloading ' "$scratch/log") modules downloaded"
		else
			say "  $tool: $((SECONDS - start)) s, $(grep -cxF -f "$scratch/packages" "$scratch/log") of $all packages compiled"
		fi
	done
}

main "$@"
