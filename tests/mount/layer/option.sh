#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# layer=DIR is made if missing, found again, kept at unmount, and can be moved in an archive; an
# unsuitable one is refused in one sentence and stays as it was.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/up.bin"
"$GGUF" splice "$base" "$donor" blk.0.ffn_up.weight "$TMP/expected"

# The path is relative to the working directory, and its parents are made; the unmount writes no
# model.
"$ORGANFS" -o layer=some/where/layer "$base" "$MNT"
cp "$TMP/up.bin" "$MNT/organs/blk_0_ffn_up.bin"
rm "$MNT/norm/blk_1_attn_norm.bin"
mkdir elsewhere
unmount_and_wait
layer=$TMP/some/where/layer
equal "$(ls -A "$layer" | xargs)" 'blobs layer.db reserve' 'files after the unmount'
equal "$(layer_sql "$layer" 'SELECT name FROM base')" stories260K.gguf 'the base'
equal "$(layer_sql "$layer" "SELECT kind FROM slot WHERE name = 'blk_1_attn_norm'")" removed
equal "$(layer_sql "$layer" 'PRAGMA integrity_check')" ok
equal "$(ls "$TMP"/*.gguf)" "$base" models
no_litter "$XDG_STATE_HOME"

# output= makes the unmount write a model; the layer stays too.
mount_model -o "layer=$layer" "$base"
equal "$(wc -l <"$MNT/.grafts")" 2 'lines in .grafts'
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/up.bin"
absent "$MNT/norm/blk_1_attn_norm.bin"
cp "$MNT/.base/norm/blk_1_attn_norm.bin" "$MNT/norm/"
unmount_and_wait
mount_model -o "layer=$layer,output=$TMP/out.gguf" "$base"
unmount_and_wait
same "$TMP/out.gguf" "$TMP/expected"
exists "$layer/layer.db"

# One mount at a time uses the layer, except read-only ones.
mount_model -o "layer=$layer" "$base"
status=0
"$ORGANFS" -o "layer=$layer" "$base" "$TMP/other" >"$TMP/said" 2>&1 || status=$?
equal "$status $(cat "$TMP/said")" \
	"1 organfs: $layer: another mount uses this layer; see organfs --list"
absent "$TMP/other"
unmount_and_wait
find "$layer" -printf '%p %s %T@ %i\n' | sort >"$TMP/before"
mount_model -o "layer=$layer,ro" "$base"
mount_model -o "layer=$layer,ro" "$base" "$TMP/second"
for mnt in "$MNT" "$TMP/second"; do
	same "$mnt/model.gguf" "$TMP/expected"
	same "$mnt/organs/blk_0_ffn_up.bin" "$TMP/up.bin"
	expect_fail 'read-only' cp "$TMP/up.bin" "$mnt/organs/blk_1_ffn_up.bin"
	expect_fail 'read-only' rm "$mnt/organs/blk_0_ffn_up.bin"
done
unmount_and_wait
unmount_and_wait "$TMP/second"
find "$layer" -printf '%p %s %T@ %i\n' | sort | cmp - "$TMP/before" || fail 'ro writes to the layer'
mount_model -o "layer=$TMP/none/at/all,ro" "$base"
same "$MNT/model.gguf" "$base"
unmount_and_wait
absent "$TMP/none"

# While one mount reads, a second one cannot write.
mount_model -o "layer=$layer,ro" "$base"
status=0
"$ORGANFS" -o "layer=$layer" "$base" "$TMP/other" >"$TMP/said" 2>&1 || status=$?
equal "$status $(cat "$TMP/said")" \
	"1 organfs: $layer: another mount uses this layer; see organfs --list"
unmount_and_wait

# A killed mount's confirmed changes are in the log. The next mount writes the log back, even a
# read-only mount; a read-only disk refuses that.
mount_model -o "layer=$layer" "$base"
cp "$TMP/up.bin" "$MNT/organs/blk_2_ffn_up.bin"
rm "$MNT/organs/blk_0_ffn_up.bin"
cp "$TMP/up.bin" "$MNT/organs/blk_0_ffn_up.bin"
kill_daemon
[ -s "$layer/layer.db-wal" ] || fail 'no log is left'
cp -r "$layer" "$TMP/killed"
mount_model -o "layer=$layer,ro" "$base"
same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/up.bin"
unmount_and_wait
absent "$layer/layer.db-wal"
if [ "$(id -u)" = 0 ]; then
	mkdir "$TMP/closed"
	mount --bind "$TMP/killed" "$TMP/closed"
	mount -o remount,bind,ro "$TMP/closed"
	status=0
	"$ORGANFS" -o "layer=$TMP/closed,ro" "$base" "$TMP/other" >"$TMP/said" 2>&1 || status=$?
	equal $status 1 "exit status: $(cat "$TMP/said")"
	equal "$(wc -l <"$TMP/said")" 1 "lines of $(cat "$TMP/said")"
	grep -q 'a mount that was killed has left layer.db-wal' "$TMP/said" ||
		fail "says: $(cat "$TMP/said")"
	umount "$TMP/closed"
	mount_model -o "layer=$TMP/killed" "$base"
	unmount_and_wait
	mount --bind "$TMP/killed" "$TMP/closed"
	mount -o remount,bind,ro "$TMP/closed"
	mount_model -o "layer=$TMP/closed,ro" "$base"
	same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/up.bin"
	unmount_and_wait
	umount "$TMP/closed"
fi
mount_model -o "layer=$layer" "$base"
cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$MNT/organs/"
unmount_and_wait

# The layer is packed with plain tar and unpacked elsewhere, with the base at another path.
tar -C "$TMP/some/where" -cf "$TMP/layer.tar" layer
mkdir "$TMP/there"
tar -C "$TMP/there" -xf "$TMP/layer.tar"
cp "$base" "$TMP/there/of another name.gguf"
mount_model -o "layer=$TMP/there/layer" "$TMP/there/of another name.gguf"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

# A layer of another base or unknown version, and a directory that is none, are refused and stay as
# they are. (SQLite makes and removes a log, which changes the directory's time.)
files() {
	find "$1" -type d -printf '%p\n' -o -printf '%p %s %T@\n' | sort
}
refused() {
	local status=0
	files "$1" >"$TMP/before"
	"$ORGANFS" -o "layer=$1" "$2" "$TMP/other" >"$TMP/said" 2>&1 </dev/null || status=$?
	equal "$status" 1 "exit status: $(cat "$TMP/said")"
	equal "$(wc -l <"$TMP/said")" 1 "lines of $(cat "$TMP/said")"
	grep -Eq -- "^organfs: $1: .*$3" "$TMP/said" || fail "says: $(cat "$TMP/said")"
	absent "$TMP/other"
	files "$1" | cmp - "$TMP/before" || fail "$1 was changed"
}
print=$(layer_sql "$layer" 'SELECT fingerprint FROM base')
refused "$layer" "$donor" "made for another base, stories260K.gguf, with the fingerprint $print"
refused "$TMP/some" "$base" 'it has no layer.db and is not empty'
mkdir "$TMP/new"
echo mine >"$TMP/new/file"
refused "$TMP/new" "$base" 'it has no layer.db and is not empty'
refused "$TMP/up.bin" "$base" 'Not a directory'
cp -r "$layer" "$TMP/later"
layer_change "$TMP/later" 'PRAGMA user_version = 3'
refused "$TMP/later" "$base" 'version 3, .*only 2: mount it with a newer organfs'
layer_change "$TMP/later" 'PRAGMA application_id = 1'
refused "$TMP/later" "$base" 'layer.db is not the database of a layer'
echo junk >"$TMP/later/layer.db"
refused "$TMP/later" "$base" 'layer.db: file is not a database'
# The layer has the form of organfs 0.2, with and without a database beside it.
printf 'organfs layer 1\nbase stories260K.gguf\n' >"$TMP/later/LAYER"
refused "$TMP/later" "$base" 'organfs 0.2 or older: .* assemble its model'
rm "$TMP/later/layer.db"
refused "$TMP/later" "$base" 'organfs 0.2 or older: .* assemble its model'

# An empty directory becomes a layer.
mkdir "$TMP/empty"
mount_model -o "layer=$TMP/empty" "$base"
unmount_and_wait
equal "$(layer_sql "$TMP/empty" 'SELECT count(*) FROM slot')" 0
