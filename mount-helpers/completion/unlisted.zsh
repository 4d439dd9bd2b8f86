# SPDX-License-Identifier: MIT
# unlisted.zsh - for ~/.zshrc: where files are completed, .base, .views and metadata of a mount
# are among them. No listing shows them, so that zsh does not know them; its style fake-files is for
# that.

# What the style says of the directories that are typed: DIRECTORY:NAME NAME.
_organfs_unlisted() {
	local typed=$PREFIX next place name
	local -a names
	reply=()
	[[ $typed == */* ]] || typed=./$typed
	while [[ $typed == */* ]]; do
		next=${typed##*/} typed=${typed%/*} names=()
		place=${(Q)typed}
		[[ $place != '~'* ]] || place=$~place
		[[ -e $place/.grafts ]] || continue
		for name in .base .views metadata; do
			[[ $name != .* || $next == .* ]] || continue
			[[ ! -d $place/$name ]] || names+=($name)
		done
		place=${place//\\/\\\\}
		((! $#names)) || reply+=("${place//:/\\:}:$names")
	done
}
zstyle -e ':completion:*' fake-files _organfs_unlisted
