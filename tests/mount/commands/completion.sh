#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: commands are scripts
# Completions of bash, zsh and fish: options and values, files, mount points. Each shell offers
# every option of organfs --help, and for any command that takes files the hidden files of a mount.
# timeout: 300
. "${0%/*}/../lib.sh"

scripts=$here/../../mount-helpers/completion
mkdir files "$TMP/m n"
cd files
mkdir 'a dir'
ln -s 'm n' "$TMP/plain"
touch 'a model.gguf' b.gguf merge.yml text.txt
mount_model -o ro "$MODELS/stories260K.gguf" "$TMP/m n"

export HOME=$TMP PATH=${ORGANFS%/*}:$PATH
in_ollama registry.ollama.ai/library/story/260k "$MODELS/stories260K.gguf"

# Call a completion function with the variables of readline, and print its answers, one a line.
cat >"$TMP/ask.bash" <<'END'
. /usr/share/bash-completion/bash_completion
. "$1"
compopt() { :; }
COMP_WORDBREAKS=${BREAKS-$COMP_WORDBREAKS}
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=() COMPREPLY=()
read -ra raw <<<"$2"
[[ $2 != *' ' ]] || raw+=('')
for word in "${raw[@]}"; do
	while [[ $word == ?*=* ]]; do
		COMP_WORDS+=("${word%%=*}" =)
		word=${word#*=}
	done
	[[ -z $word && ${COMP_WORDS[-1]} == = ]] || COMP_WORDS+=("$word")
done
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_organfs "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
END

# Complete another command by bash-completion. A file sourced twice is registered once.
cat >"$TMP/ask-any.bash" <<'END'
. /usr/share/bash-completion/bash_completion
. "$1"
. "$1"
compopt() { :; }
command=${2%% *} word=${2#* }
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=("$command" "$word") COMP_CWORD=1 COMPREPLY=()
load=_completion_loader
! declare -F _comp_load >/dev/null || load=_comp_load
"$load" "$command"
completion=$(complete -p "$command")
completion=${completion#*-F }
"${completion%% *}" "$command" "$word" "$command"
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
END

# zsh shows completions only to an interactive user: it runs at a terminal with very long lines.
# compinit's cache is kept for later calls.
cat >"$TMP/ask.zsh" <<'END'
zmodload zsh/zpty
setup="PS1= PS2=; stty columns 500 rows 500; COLUMNS=500 LINES=500 LISTMAX=0; fpath=($1 \$fpath)"
setup+="; autoload -Uz compinit; compinit -u -d $1/dump; zstyle ':completion:*' verbose no"
setup+="; . $1/unlisted.zsh"
setup+="; bindkey '^I' list-choices; echo re''ady"
zpty shell zsh -f -i
zpty -w shell "$setup"
# Wait until zsh enables bracketed paste, which is when it reads keys.
zpty -r -m shell said '*ready*2004h*'
zpty -w -n shell "$2"$'\t\x15echo do\'\'ne\r'
zpty -r -m shell said '*done*'
print -r -- "$said"
zpty -d shell
END

ask_zsh() {
	TERM=xterm timeout 20 zsh -f "$TMP/ask.zsh" "$TMP/zsh" "$1" |
		sed 's/\x1b\[[0-9;?]*[a-zA-Z]/ /g; s/\r/\n/g' | grep -Fvx "$1"
}
ask_fish() {
	HOME=$TMP fish --no-config -c "source '$scripts/organfs.fish'; complete -C '$1'" | cut -f 1
}

# offers LINE WORD...: each word is offered, as it stands, appended to the line, or with = and a
# value.
offers() {
	local line=$1 word
	shift
	ask_$shell "$line" >"$TMP/answer" 2>&1 || fail "$shell: $line: $(cat "$TMP/answer")"
	for word; do
		grep -Eq -- "(^|[ ,=/:])${word//./\\.}([ =]|\$)" "$TMP/answer" ||
			fail "$shell does not offer $word for $line: $(cat "$TMP/answer")"
	done
}

lacks() {
	! grep -q -- "$1" "$TMP/answer" || fail "$shell offers $1: $(cat "$TMP/answer")"
}

mapfile -t flags < <("$ORGANFS" --help | grep -o '^  -.*  ' | grep -oE -- '--?[a-zA-Z]+' |
	grep -vx -- -o)
mapfile -t names < <("$ORGANFS" --help | sed -n 's/^  -o \([^ ]*\) .*/\1/p' | tr , '\n')
[ ${#flags[@]} -ge 6 ] && [ ${#names[@]} -ge 15 ] || fail "${flags[*]} ${names[*]}"

try_shell() {
	local name
	offers 'organfs -' "${flags[@]}"
	for name in organfs organ-dissect organ-serve organ-stream organfs-open organfs-umount; do
		offers "$name --" --help --version
	done
	offers 'organfs -o ' "${names[@]%%=*}"
	offers 'organfs -o blocks=' keep follow
	offers 'organfs -o ro,compress=' off 22
	offers 'organfs -o samples=a' all
	offers 'organfs -o layer=' 'dir/'
	lacks b.gguf
	offers 'organfs -o ro,output=' b.gguf text.txt
	offers 'organfs ' b.gguf merge.yml 'dir/'
	offers 'organfs ollama:st' 'story:260k'
	offers 'organ-dissect -' --verify -o
	offers 'organ-dissect -o ro,sa' samples
	offers 'organ-stream ' text.txt
	offers 'organfs-open --' --unmount
	offers 'organ-serve --' --listen --socket --password --token --no-token --cert --key \
		--output --models --read-only
	offers 'organfs-umount ' 'n'
	for name in 'organfs-umount /' 'organfs --stop /'; do
		offers "$name" 'n'
		grep -Eq "$TMP/m(\\\\)? n" "$TMP/answer" || fail "$shell: $(cat "$TMP/answer")"
	done
	offers 'organfs-umount --' --all --keep
	offers 'organfs --stop --' --all --keep
}

# .base, .views, metadata and their entries are offered by any path; no hidden name without a typed
# dot, and none outside of mounts. Listed names and ordinary directories are offered too.
try_unlisted() {
	local mount
	for mount in "$TMP/plain" ../plain; do
		offers "cat $mount/." .base/ .views/ .grafts .theta
		offers "cp $mount/.v" .views/
		lacks .base
		offers "cat $mount/.views/npy/organs/blk_0_ffn_g" blk_0_ffn_gate.npy
		offers "cat $mount/.base/metadata/general.n" general.name
		offers "cat $mount/" manifest.json metadata/
		lacks '\.base'
		offers "cat $mount/met" metadata/
		offers "cat $mount/metadata/general.n" general.name
		offers "cat $mount/.views/."
		lacks '\.base'
	done
	# Only an interactive bash splits an escaped word.
	offers 'cat ../m\ n/.' .base/ .views/
	offers 'cat ' b.gguf text.txt 'dir/'
	offers 'cat ./.'
	lacks '\.base'
	cd "$TMP/m n"
	offers 'ls .' .base/ .views/ .log
	cd "$TMP/files"
}

tried=
if [ -e /usr/share/bash-completion/bash_completion ]; then
	shell=bash
	# readline itself appends / to a directory.
	ask_bash() {
		bash --norc "$TMP/ask.bash" "$scripts/organfs.bash" "$1" | sed 's/dir$/&\//'
	}
	try_shell
	offers 'organfs '
	lacks text.txt
	offers 'organfs -o ro,allow_other,'
	lacks ',ro$'
	lacks 'allow_other,allow_other'
	offers 'organfs -o model=ollama:st' 'story:260k'
	lacks model=
	BREAKS='=' offers 'organfs -o layer=' 'dir/'
	lacks layer=
	# A name with an expansion is expanded neither here nor in the user's line.
	in_hub 'me/repo/$(touch made).gguf' b.gguf
	offers 'organfs hf:me'
	same <(echo 'me/repo/\$\(touch\ made\).gguf') "$TMP/answer"
	absent made
	ask_bash() {
		bash --norc "$TMP/ask-any.bash" "$scripts/unlisted.bash" "$1" |
			sed 's/\(dir\|\.base\|\.views\|metadata\)$/&\//'
	}
	try_unlisted
	tried=yes
fi
if command -v zsh >/dev/null; then
	mkdir "$TMP/zsh"
	cp "$scripts/organfs.zsh" "$TMP/zsh/_organfs"
	cp "$scripts/unlisted.zsh" "$TMP/zsh/"
	shell=zsh
	try_shell
	try_unlisted
	tried=yes
fi
if command -v fish >/dev/null; then
	shell=fish
	try_shell
	ask_fish() {
		HOME=$TMP fish --no-config -c "source '$scripts/unlisted.fish'; complete -C '$1'" |
			cut -f 1
	}
	try_unlisted
	tried=yes
fi
unmount_and_wait "$TMP/m n"
[ -n "$tried" ] || skip 'no bash-completion, no zsh, no fish'
