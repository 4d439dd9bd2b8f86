# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# organfs.bash - what bash-completion offers for organfs and the programs beside it, each of which
# finds it under its own name.

# Words that begin with $cur.
_organfs_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Files whose names end in one of these, and directories. Without any: all files.
_organfs_files() {
	local IFS=$'\n' pattern
	compopt -o filenames
	if [ $# = 0 ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -d -- "$cur")
	for pattern; do
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(
			compgen -f -X "!*.$pattern" -- "$cur")
	done
}

# The same, and models by their names in stores.
_organfs_models() {
	local name
	if [[ $cur == @(ollama|hf|lmstudio):* ]]; then
		COMPREPLY=()
		# Others choose these names: compgen -W would expand one, and the user's line too.
		while IFS=$'\t' read -r name _; do
			[[ $name != "$cur"* ]] || COMPREPLY+=("$(printf %q "$name")")
		done < <(organfs --models 2>/dev/null)
		return
	fi
	_organfs_files "$@"
	mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(
		compgen -W 'ollama: hf: lmstudio:' -- "$cur")
	# A name of a file would have its colon quoted.
	[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *: ]] || compopt +o filenames -o nospace
}

# The last of the options in $cur, which are separated by commas: its name or its value.
_organfs_option_list() {
	local list='' given=$cur i
	[[ $cur != *,* ]] || list=${cur%,*},
	cur=${cur##*,}
	compopt -o nospace
	case $cur in
	model=*) _organfs_value _organfs_models gguf GGUF ;;
	output=* | header=* | recipe=* | pidfile=*) _organfs_value _organfs_files ;;
	layer=* | donors=*) _organfs_value _filedir -d ;;
	compress=*) _organfs_value _organfs_words '1 3 9 19 22 off' ;;
	shape=*) _organfs_value _organfs_words 'any same' ;;
	blocks=*) _organfs_value _organfs_words 'follow keep' ;;
	merged=*) _organfs_value _organfs_words 'keep q8_0 f16' ;;
	type=*) _organfs_value _organfs_words 'keep donor' ;;
	views=*) _organfs_value _organfs_words 'listed unlisted' ;;
	passthrough=* | snapshot=*) _organfs_value _organfs_words 'no yes' ;;
	samples=*) _organfs_value _organfs_words '1000 10000 100000 1000000 all' ;;
	threads=*) _organfs_value _organfs_words "1 4 $(nproc)" ;;
	uid=*) _organfs_value _organfs_words "0 $(id -u)" ;;
	gid=*) _organfs_value _organfs_words "$(id -G)" ;;
	umask=*) _organfs_value _organfs_words '000 002 022 027 077' ;;
	*)
		_organfs_words 'ro output= noassemble layer= compress= shape=any blocks=keep
			merged=q8_0 merged=f16 type=keep views=listed samples= threads= uid= gid= umask= allow_other
			allow_root auto_unmount confine nonempty debug model= header= recipe= donors=
			lineage fresh rw assemble noallow_other noauto_unmount noconfine nofresh
			nolineage shape=same merged=keep type=donor passthrough=no snapshot=no pidfile='
		;;
	esac
	# What is given once is enough.
	for i in "${!COMPREPLY[@]}"; do
		if [[ ,$list == *",${COMPREPLY[i]%%=*}"[=,]* && ${COMPREPLY[i]} != model=* ]]; then
			unset "COMPREPLY[i]"
		else
			COMPREPLY[i]=$list${COMPREPLY[i]}
		fi
	done
	_organfs_break "$given"
}

# A value of NAME=VALUE, by the function that follows.
_organfs_value() {
	local name=${cur%%=*}= i
	cur=${cur#*=}
	"$@"
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=$name${COMPREPLY[i]}
	done
}

# Where readline takes what is behind the last = or : for a word, it wants no more than that.
_organfs_break() {
	local i breaks=${COMP_WORDBREAKS//[^=:]/} before
	[[ $breaks ]] || return 0
	before=${1%"${1##*["$breaks"]}"}
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=${COMPREPLY[i]#"$before"}
	done
}

_organfs_program() {
	local any=
	if [[ " ${words[*]} " == *' --stop '* ]]; then
		_organfs_umount
		return
	fi
	[[ " ${words[*]} " != *' --'@(quantise|report|why)[\ =]* ]] || any=yes
	case $prev,$cur,$any in
	-o,*) _organfs_option_list ;;
	*,--report=*) COMPREPLY=() ;;
	*,--diff=*) _organfs_words tsv ;;
	*,--imatrix=*) _organfs_value _organfs_files gguf; _organfs_break "--imatrix=" ;;
	*,-*) _organfs_words '-d -f -s -h --help -V --version --report --report= --json --picture --diff --diff= --models --show --why --pack --unpack --check --theta --npy --quantise --imatrix= --recipe --list --stop -o' ;;
	*,yes) _organfs_files ;;
	*) _organfs_models gguf GGUF yml yaml; _organfs_break "$cur" ;;
	esac
}

_organfs_stream() {
	case $prev,$cur in
	-o,*) _organfs_option_list ;;
	-d,*) _filedir -d ;;
	*,-*) _organfs_words '-o -d -h --help -V --version' ;;
	*) _organfs_files ;;
	esac
}

_organfs_dissect() {
	case $prev,$cur in
	-o,*) _organfs_option_list ;;
	*,-*) _organfs_words '-o --verify -h --help -V --version' ;;
	*) _organfs_files gguf GGUF ;;
	esac
}

_organfs_open() {
	case $prev,$cur in
	-o,*) _organfs_option_list ;;
	*,-*) _organfs_words '-o -u --unmount -h --help -V --version' ;;
	*) _organfs_files gguf GGUF ;;
	esac
}

# Where organfs is mounted.
_organfs_mounts() {
	local point
	compopt -o filenames
	COMPREPLY=()
	while read -r point; do
		printf -v point %b "${point//\\/\\0}"
		[[ $point != "$cur"* ]] || COMPREPLY+=("$point")
	done < <(awk '/ - fuse\.organfs / { print $5 }' /proc/self/mountinfo)
	[ ${#COMPREPLY[@]} != 0 ] || _filedir -d
}

_organfs_umount() {
	case $prev,$cur in
	-N,* | -t,*) ;;
	*,-*) _organfs_words '-f -l -n -r -v --keep --all -N -t -h --help -V --version' ;;
	*) _organfs_mounts ;;
	esac
}

_organfs_serve() {
	case $prev,$cur in
	--listen,*) _organfs_words '127.0.0.1 ::1 0.0.0.0 ::' ;;
	--output,* | --models,*) _filedir -d ;;
	--socket,* | --password,* | --token,* | --cert,* | --key,*) _organfs_files ;;
	*,-*)
		_organfs_words '--listen --socket --password --token --no-token --cert --key --output
			--models --read-only -h --help -V --version'
		;;
	*) _organfs_mounts ;;
	esac
}

_organfs() {
	# shellcheck disable=SC2034
	local cur prev words cword
	_init_completion -n =: || return
	case ${1##*/} in
	organfs) _organfs_program ;;
	organ-stream) _organfs_stream ;;
	organ-dissect) _organfs_dissect ;;
	organfs-open) _organfs_open ;;
	organfs-umount) _organfs_umount ;;
	organ-serve) _organfs_serve ;;
	esac
}

complete -F _organfs organfs organ-stream organ-dissect organfs-open organfs-umount organ-serve
