#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount that resumes an earlier mount's grafts says so on the terminal; -o fresh resumes none. A
# private layer belongs to one file: a copy does not get it while that file exists, and neither
# another name nor a move of the file loses it.
. "${0%/*}/../lib.sh"

donor=$MODELS/stories260K-donor.gguf
slot=organs/blk_0_ffn_up.bin
for block in 0 1 2; do
	"$GGUF" organ "$donor" blk.$block.ffn_up.weight "$TMP/$block.bin"
done
mkdir "$TMP/a" "$TMP/b" "$TMP/hub"
a=$TMP/a/scribe.gguf
b=$TMP/b/scribe.gguf
cp "$(use stories260K)" "$a"
said=$TMP/said

# start OPTIONS MODEL: mount in the background; $said has the messages, and stdout is empty.
start() {
	"$ORGANFS" ${1:+-o "$1"} "$2" "$MNT" >"$TMP/out" 2>"$said" </dev/null ||
		fail "organfs $*: $(cat "$said")"
	[ ! -s "$TMP/out" ] || fail "on standard output: $(cat "$TMP/out")"
	DAEMON[$MNT]=$(daemon_of "$MNT") || fail 'no daemon'
}
says() {
	grep -Eq -- "$1" "$said" || fail "it does not say $1 but: $(cat "$said")"
	grep -Eq -- "$1" "$MNT/.log" || fail ".log does not say $1 but: $(cat "$MNT/.log")"
}
silent() {
	[ ! -s "$said" ] || fail "says: $(cat "$said")"
}
grafts() {
	equal "$(wc -l <"$MNT/.grafts")" "$1" "grafts: $(cat "$MNT/.grafts"); $(cat "$said")"
}
layers() {
	equal "$(find "$XDG_STATE_HOME" -name layer.db | wc -l)" "$1" "layers$2"
}

# The message tells the number of two organs and a value, their time, and how to drop them.
start '' "$a"
silent
cp "$TMP/0.bin" "$MNT/$slot"
cp "$TMP/1.bin" "$MNT/organs/blk_1_ffn_up.bin"
echo grafted >"$MNT/metadata/general.name"
kill_daemon
layer=$(echo "$XDG_STATE_HOME"/organfs/*)
layer_change "$layer" "UPDATE directory SET mtime = $(date -d '2026-02-03 04:05:06' +%s)000000000"
start noassemble "$a"
says 'scribe: took up 3 grafts that an earlier mount left, the last on 2026-02-03 04:05:06$'
says "fresh begins without these grafts.* remove $layer while"
equal "$(wc -l <"$said")" 2 "lines: $(cat "$said")"
grafts 3
unmount_and_wait

# A fresh mount leaves the old grafts unchanged; its own layer is another, newer one.
find "$layer" -type f -exec sha256sum {} + >"$TMP/sums"
start fresh,noassemble "$a"
silent
grafts 0
same "$MNT/model.gguf" "$a"
cp "$TMP/2.bin" "$MNT/$slot"
unmount_and_wait
sha256sum --quiet -c "$TMP/sums" || fail 'a fresh mount changed the layer that was there'
layers 2 ' after a fresh mount'
start noassemble "$a"
says 'took up 1 graft that'
says 'earlier mounts also left 1 older layer$'
same "$MNT/$slot" "$TMP/2.bin"
unmount_and_wait
# An empty newer layer does not hide the older one.
start fresh "$a"
exec 5>"$MNT/$slot"
echo half >&5
kill_daemon
exec 5>&- || true
layers 3 ' after a crash'
start '' "$a"
grafts 1
unmount_and_wait
rm "$TMP"/a/*.grafted*.gguf
start '' "$a"
says 'took up 3 grafts'
unmount_and_wait
rm "$TMP"/a/*.grafted*.gguf

# An assembly drops the layer that it wrote, here the fresh mount's.
start '' "$a"
silent
cp "$TMP/0.bin" "$MNT/$slot"
kill_daemon
start fresh "$a"
cp "$TMP/1.bin" "$MNT/organs/blk_1_ffn_up.bin"
unmount_and_wait
"$GGUF" splice "$a" "$donor" blk.1.ffn_up.weight "$TMP/expected"
same "$(echo "$TMP"/a/*.grafted.gguf)" "$TMP/expected"
layers 1 ' after the fresh one was assembled'
rm "$TMP"/a/*.grafted*.gguf

# A copy begins without grafts, with a message; the grafts still belong to the first file.
cp "$a" "$b"
start '' "$b"
says "begins without the grafts .* in $XDG_STATE_HOME/.* another copy, $a\$"
grafts 0
cp "$TMP/2.bin" "$MNT/$slot"
kill_daemon
start '' "$b"
says 'took up 1 graft that'
same "$MNT/$slot" "$TMP/2.bin"
kill_daemon
start '' "$a"
says 'took up 1 graft that'
same "$MNT/$slot" "$TMP/0.bin"
kill_daemon

# Other names of the file are a symbolic link, as in a download cache, and a hard link.
ln -s ../a/scribe.gguf "$TMP/hub/link.gguf"
ln "$a" "$TMP/hub/hard.gguf"
for name in link hard; do
	start '' "$TMP/hub/$name.gguf"
	says "$name: took up 1 graft that"
	same "$MNT/$slot" "$TMP/0.bin"
	kill_daemon
done
rm "$TMP/hub/hard.gguf"

# A moved base keeps its grafts; another file in its old place, model or not, has none.
# layer_of BASE: the private layer whose base has that path.
layer_of() {
	local dir
	for dir in "$XDG_STATE_HOME"/organfs/*; do
		[ "$(layer_sql "$dir" 'SELECT path FROM base')" != "$1" ] || echo "$dir"
	done
}
rm -r "$(layer_of "$b")" "$b"
mv "$a" "$TMP/hub/moved.gguf"
cp "$donor" "$a"
start '' "$TMP/hub/moved.gguf"
says 'took up 1 graft that'
kill_daemon
# From then on the grafts belong to the moved base.
cp "$TMP/hub/moved.gguf" "$a"
start '' "$a"
says "begins without the grafts .* another copy, $TMP/hub/moved.gguf"
grafts 0
unmount_and_wait
rm "$TMP/hub/moved.gguf"
mkfifo "$TMP/hub/moved.gguf"
start noassemble "$a"
says 'took up 1 graft that'
unmount_and_wait

# A layer without a path belongs to any copy, and then to that one.
layer_change "$(layer_of "$a")" 'UPDATE base SET path = NULL'
cp "$a" "$b"
start noassemble "$b"
says 'took up 1 graft that'
unmount_and_wait
start '' "$a"
says "another copy, $b"
unmount_and_wait

# The name has a newline.
odd=$TMP/a/'odd
path % name'.gguf
mv "$b" "$odd"
rm "$a"
start noassemble "$odd"
says 'took up 1 graft that'
unmount_and_wait
cp "$odd" "$b"
start '' "$b"
says 'begins without the grafts'
unmount_and_wait
rm -r "$XDG_STATE_HOME/organfs"

# A split model is identified by the path of its first shard.
cp "$odd" "$b"
mkdir "$TMP/split" "$TMP/elsewhere"
mount_model "$b"
echo "$TMP/split/s-%05d-of-%05d.gguf split=400K" >"$MNT/.assemble"
unmount_and_wait
cp "$TMP"/split/* "$TMP/elsewhere"
shard=$(cd "$TMP/split" && printf '%s\n' *.gguf | head -n 1)
start '' "$TMP/split/$shard"
cp "$TMP/0.bin" "$MNT/$slot"
kill_daemon
start '' "$TMP/elsewhere/$shard"
says "begins without the grafts .* another copy, $TMP/split/"
unmount_and_wait
rm "$TMP/split/$shard"
start noassemble "$TMP/elsewhere/$shard"
says 'took up 1 graft that'
unmount_and_wait
rm -r "$XDG_STATE_HOME/organfs"

# With several models each message has the model's name. A directory named by the user gives no
# message.
start noassemble "$b"
cp "$TMP/0.bin" "$MNT/$slot"
unmount_and_wait
cp "$donor" "$TMP/b/other.gguf"
start noassemble "$TMP/b"
says 'scribe/scribe: took up 1 graft that'
! grep -q other "$said" || fail "$(cat "$said")"
unmount_and_wait
start "layer=$TMP/layer" "$b"
cp "$TMP/0.bin" "$MNT/$slot"
unmount_and_wait
equal "$(layer_sql "$TMP/layer" 'SELECT path FROM base')" '' 'the path in a layer that was named'
start "layer=$TMP/layer" "$b"
silent
grep -q "took up 1 graft .*$TMP/layer" "$MNT/.log" ||
	fail "$(cat "$MNT/.log")"
unmount_and_wait
status=0
"$ORGANFS" -o "fresh,layer=$TMP/layer" "$b" "$MNT" 2>"$said" || status=$?
equal $status 2
grep -q 'exclude each other' "$said" || fail "$(cat "$said")"
