#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: needs a desktop
# plain: tests programs of others
# organfs-open mounts a model once, under a name of its own, opens it, and leaves nothing behind;
# errors are shown where a desktop user sees them.
. "${0%/*}/../lib.sh"

export HOME=$TMP/home ORGANFS_OPENER=$TMP/bin/manager DISPLAY=:none
export PATH=$TMP/bin:$PATH
unset WAYLAND_DISPLAY
mkdir "$TMP/home" "$TMP/bin"
ln -s "$UMOUNT" "$TMP/bin/organfs-umount"
ln -s "$(readlink -f "$here/../../mount-helpers/organfs-open")" "$TMP/bin/organfs-open"
printf '#!/bin/sh\nprintf "%%s\\n" "$1" >>"%s"\n' "$TMP/opened" >"$TMP/bin/manager"
printf '#!/bin/sh\nprintf "%%s|" "$@" >>"%s"\n' "$TMP/notes" >"$TMP/bin/notify-send"
chmod +x "$TMP"/bin/*
tab=$HOME/organfs-mounts

# opens PLACE ARGUMENT...: it prints and opens PLACE.
opens() {
	local place=$1
	shift
	rm -f "$TMP/opened" "$TMP/notes"
	equal "$(organfs-open "$@" 2>"$TMP/err")" "$place" "organfs-open $*: $(cat "$TMP/err")"
	equal "$(cat "$TMP/opened")" "$place" "opened by organfs-open $*"
	[ ! -e "$TMP/notes" ] || fail "notified: $(cat "$TMP/notes" "$TMP/err")"
	mountpoint -q "$place" && ls "$place" >/dev/null || fail "$place is not mounted"
}
mounts() {
	LC_ALL=C grep -c " $TMP/home/organfs-mounts/.* - fuse.organfs " /proc/self/mountinfo || true
}
# complains PATTERN ARGUMENT...: on stderr and in a notification.
complains() {
	local pattern=$1 status=0
	shift
	rm -f "$TMP/opened" "$TMP/notes"
	organfs-open "$@" >"$TMP/out" 2>"$TMP/err" || status=$?
	equal $status 1 "organfs-open $*"
	grep -Eq -- "$pattern" "$TMP/err" || fail "organfs-open $*: $(cat "$TMP/err")"
	until_true 60 test -s "$TMP/notes" || fail "no notification of $(cat "$TMP/err")"
	absent "$TMP/opened"
}

base=$(use stories260K)
# The directory's name equals a clone's of the source.
mkdir "$HOME/organfs"
touch "$HOME/organfs/Makefile"
odd=$TMP/'-a 1%41\0407 <b>&
$(x).gguf'
cp "$base" "$odd"
mkdir "$TMP/models"
cp "$MODELS/types.gguf" "$TMP/models/stories260K.GGUF"
cp "$MODELS"/stories260K-split-*.gguf "$TMP"

opens "$tab/stories260K" "$base"
same "$tab/stories260K/model.gguf" "$base"
# Other names of the model give the same mount, and an option comes too late.
ln -s stories260K.gguf "$TMP/link.gguf"
for name in "$base" stories260K.gguf "file://$base" "file://localhost${base%K.gguf}%4b.gguf" \
	"$TMP/link.gguf" "$tab/stories260K"; do
	opens "$tab/stories260K" -o ro -- "$name"
	grep -q 'mounted already' "$TMP/err" || fail "not told that it is mounted: $name"
done
equal "$(mounts)" 1
# The cases are another model of that name, and a directory in use.
mkdir -p "$tab/stories260K-2/x"
opens "$tab/stories260K-3" -o ro "$TMP/models/stories260K.GGUF"
! touch "$tab/stories260K-3/.assemble" 2>/dev/null || fail 'it is not read-only'
rm -r "$tab/stories260K-2"
opens "$tab/models" "$TMP/models"
opens "$tab/models" "$TMP/../tmp/models/"
# Any shard gives the model.
opens "$tab/stories260K-split" "$TMP/stories260K-split-00002-of-00003.gguf"
opens "$tab/stories260K-split" "$TMP/stories260K-split-00003-of-00003.gguf"
opens "$tab/$(basename "$odd" .gguf)" -- "${odd##*/}"
opens "$tab/$(basename "$odd" .gguf)" "$odd"
latin=$TMP/$'\xe9\xff'
cp "$base" "$latin.gguf"
opens "$tab/${latin##*/}" "$latin.gguf"
opens "$tab/${latin##*/}" "file://$TMP/%e9%FF.gguf"
equal "$(mounts)" 6
organfs-open >/dev/null
equal "$(tail -n 1 "$TMP/opened")" "$tab" 'what is there'

# The picture is one for any viewer, under another name than theta.svg.
export XDG_CACHE_HOME=$TMP/cache
for i in 1 2; do
	rm -f "$TMP/opened"
	equal "$(organfs-open "$tab/stories260K-3/theta.svg")" \
		"$TMP/cache/organfs/stories260K-3-theta.svg" "picture $i"
	equal "$(cat "$TMP/opened")" "$TMP/cache/organfs/stories260K-3-theta.svg"
	same "$(cat "$TMP/opened")" "$tab/stories260K-3/theta.svg"
done
complains 'No such file' "$TMP/none/theta.svg"

# Two concurrent clicks make one mount.
for i in 1 2 3 4; do
	organfs-open "$MODELS/types.gguf" >/dev/null &
done
wait
equal "$(mounts)" 7
# The mount of a killed daemon is removed, in use or not, and a new one replaces it.
exec 5<"$tab/types/manifest.json"
kill -9 "$(daemon_of "$tab/types")"
! ls "$tab/types" 2>/dev/null || fail 'the daemon lives'
opens "$tab/types" "$MODELS/types.gguf"
exec 5<&-
equal "$(mounts)" 7

# A refusal shows its reason, without characters that a notification would take for markup.
cp "$MALFORMED/magic-lfs.gguf" "$TMP/<i>&bad.gguf"
complains 'cannot be mounted: .' "$TMP/<i>&bad.gguf"
grep -Fq '|--|<i>&bad.gguf cannot be mounted|' "$TMP/notes" || fail "notified: $(cat "$TMP/notes")"
grep -Fq '/&lt;i&gt;&amp;bad.gguf: ' "$TMP/notes" || fail "notified: $(cat "$TMP/notes")"
complains 'none.gguf' "$TMP/none.gguf"
complains 'names no file' 'file:///tmp/%zz'
complains 'names no file' 'file://elsewhere/tmp/x.gguf'
complains 'not mounted' -u "$TMP/none.gguf"
equal "$(mounts)" 7
equal "$(find "$tab" -maxdepth 1 -printf x)" xxxxxxxx 'directories'

# At the end the grafted model is written, and the directories are gone.
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/expected"
cp "$TMP/organ.bin" "$tab/stories260K/organs/blk_1_ffn_up.bin"
# organfs-open passes on a mount's message, such as that it resumes grafts of a killed mount.
kill -9 "$(daemon_of "$tab/stories260K")"
organfs-open "$base" >/dev/null 2>"$TMP/said" || fail "$(cat "$TMP/said")"
grep -q '^organfs: .* took up 1 graft that' "$TMP/said" || fail "it says: $(cat "$TMP/said")"
until_true 60 grep -qs 'stories260K: took up 1 graft that' "$TMP/notes" ||
	fail "notified: $(cat "$TMP/notes")"
rm -f "$TMP/notes"
organfs-open --unmount "$TMP/link.gguf" >/dev/null || fail 'cannot be unmounted'
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"
until_true 60 grep -q 'stories260K.grafted.gguf' "$TMP/notes" || fail 'no word of what was written'
absent "$tab/stories260K"
exec 5<"$tab/types/manifest.json"
complains busy --unmount "$MODELS/types.gguf"
exec 5<&-
organfs-open -u >/dev/null || fail 'they cannot be unmounted'
equal "$(mounts)" 0
absent "$tab"
complains 'no model is mounted'
complains 'cannot be mounted' "$TMP/<i>&bad.gguf"
absent "$tab"
mkdir "$tab"
touch "$tab/mine"
rm -f "$TMP/notes"
organfs-open -u "$tab" 2>/dev/null && fail 'unmounted what is no mount'
exists "$tab/mine"
equal "$(find "$HOME/organfs")" "$(printf '%s\n' "$HOME/organfs" "$HOME/organfs/Makefile")"

# Wait for the last notification, so that none comes in between.
until_true 60 test -s "$TMP/notes" || fail 'no notification'
unset DISPLAY

# Mounts go elsewhere on request, or without a home: to a directory of this user alone.
tab=$TMP/elsewhere
ORGANFS_MOUNTS=$tab opens "$tab/stories260K" "$base"
ORGANFS_MOUNTS=$tab organfs-open -u >/dev/null || fail 'it cannot be unmounted'
absent "$tab"
mkdir -m 700 "$TMP/run"
tab=$TMP/run/organfs
unset HOME
export XDG_RUNTIME_DIR=$TMP/run XDG_STATE_HOME=$TMP/state
opens "$tab/stories260K" "$base"
organfs-open -u >/dev/null || fail 'it cannot be unmounted'
absent "$tab"
# has_no_place PATTERN: the usage error is one sentence.
has_no_place() {
	umount_says 2 "^organfs-open: $1.*; see organfs-open --help\$" organfs-open "$base"
}
chmod 755 "$TMP/run"
has_no_place 'there is no HOME'
XDG_RUNTIME_DIR=$TMP/none has_no_place 'there is no HOME'
XDG_RUNTIME_DIR=run has_no_place 'there is no HOME'
ORGANFS_MOUNTS=run has_no_place 'ORGANFS_MOUNTS is no absolute'
