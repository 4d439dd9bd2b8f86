# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# unlisted.bash - for ~/.bashrc, behind bash-completion: where a command's files are completed,
# .base, .views and metadata of a mount are among them. No listing shows them, so that bash does not
# know them.
#
# bash-completion has one function that completes files for all commands, _filedir until 2.11 and
# _comp_compgen_filedir since. It is called as before, and then the names are added.

# In $unlisted: those that go on from the file name $1, as typed.
_organfs_unlisted() {
	local typed=${1#[\"\']} place name
	unlisted=()
	typed=${typed//\\/}
	[[ $typed == */* ]] || typed=./$typed
	place=${typed%/*}
	[[ $place != '~' && $place != '~/'* ]] || place=$HOME${place#'~'}
	[ -e "$place/.grafts" ] || return 0
	for name in .base .views metadata; do
		[[ $name != .* || ${typed##*/} == .* ]] || continue
		[[ ! -d $place/$name || $name != "${typed##*/}"* ]] ||
			unlisted+=("${1%"${1##*/}"}$name")
	done
	# As compgen has names: not quoted.
	unlisted=("${unlisted[@]//\\/}")
	unlisted=("${unlisted[@]#[\"\']}")
}

_organfs_filedir() {
	local unlisted
	_organfs_listed "$@"
	_organfs_unlisted "${cur-}"
	[ ${#unlisted[@]} != 0 ] || return 0
	compopt -o filenames 2>/dev/null
	if declare -F _comp_compgen >/dev/null; then
		_comp_compgen -aR -- -W '"${unlisted[@]}"'
	else
		COMPREPLY+=("${unlisted[@]}")
	fi
}

# Where it is sourced again, it is there already.
if ! declare -F _organfs_listed >/dev/null; then
	for _organfs_name in _comp_compgen_filedir _filedir; do
		declare -F "$_organfs_name" >/dev/null || continue
		eval "_organfs_listed$(declare -f "$_organfs_name" | sed "1s/^$_organfs_name//")"
		eval "$_organfs_name() { _organfs_filedir \"\$@\"; }"
		break
	done
	unset _organfs_name
fi
