#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# If the unmount cannot write the model, umount tells the reason and the place of the grafts.
. "${0%/*}/../lib.sh"

with_umount_helper
base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
mkdir "$TMP/small" "$TMP/out"
mount -t tmpfs -o size=800k tmpfs "$TMP/small"

"$ORGANFS" -o "output=$TMP/small/out.gguf" "$base" "$MNT" </dev/null
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
umount_says 1 "failed: $TMP/small/out.gguf: .*[Nn]o space.*again with -o output=FILE" umount "$MNT"
layer=$(sed -n 's/.* the grafts are kept in //p' "$TMP/.said")
exists "$layer/layer.db"
equal "$(ls -A "$TMP/small")" '' 'files on the full disk'

# The next mount has them, and the foreground daemon's exit status tells the same outcome.
"$ORGANFS" -f -o "output=$TMP/small/out.gguf" "$base" "$MNT" </dev/null 2>"$LOGS/foreground" &
until_true 60 mountpoint -q "$MNT" || late 'not mounted'
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
mount -o remount,ro "$TMP/small"
umount_says 1 'Read-only.*again with -o output=FILE.*the grafts are kept in ' "$HELPER" "$MNT"
status=0
wait $! || status=$?
equal $status 1 'exit status of the daemon'
grep -q 'the grafts are kept in' "$LOGS/foreground" || fail 'the log does not say so'
mount_model "$base"
umount_says 0 '' umount "$MNT"
wait_daemon
exists "$TMP/stories260K.grafted.gguf"
no_litter "$XDG_STATE_HOME"

# There is room for one of two models.
mkdir "$TMP/room"
mount -t tmpfs -o size=2000k tmpfs "$TMP/room"
cp "$base" "$TMP/other.gguf"
"$ORGANFS" -o "output=$TMP/room" "$base" "$TMP/other.gguf" "$MNT" </dev/null
cp "$TMP/organ.bin" "$MNT/stories260K/organs/blk_1_ffn_up.bin"
cp "$TMP/organ.bin" "$MNT/other/organs/blk_1_ffn_up.bin"
umount_says 1 "failed: $TMP/room/other.grafted.gguf: .*[Nn]o space" umount "$MNT"
equal "$(wc -l <"$TMP/.said")" 1 'lines about one failure'
equal "$(ls -A "$TMP/room")" stories260K.grafted.gguf
same "$TMP/room/stories260K.grafted.gguf" "$TMP/stories260K.grafted.gguf"
umount "$TMP/room"
mount_model "$TMP/other.gguf"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
umount_says 0 '' umount "$MNT"
wait_daemon
no_litter "$XDG_STATE_HOME"

# The daemon has ended before: there is no process to wait for.
"$ORGANFS" "$base" "$MNT" </dev/null
kill -9 "$(daemon_of "$MNT")"
umount_says 0 'the daemon has died, .*are kept: mount the model again' umount "$MNT"

# If the mount is in a second place too, nothing is written before that ends.
mkdir "$TMP/bound"
rm "$TMP/stories260K.grafted.gguf"
mount_model "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
mount --bind "$MNT" "$TMP/bound"
umount_says 0 "also mounted at $TMP/bound: nothing is written before that" umount "$MNT"
absent "$TMP/stories260K.grafted.gguf"
umount_says 0 '' "$HELPER" "$TMP/bound"
exists "$TMP/stories260K.grafted.gguf"
wait_daemon
mount_model "$base"
unshare -m sleep 1000 &
sleeper=$!
until_true 60 eval '[ "$(readlink /proc/self/ns/mnt)" != "$(readlink /proc/$sleeper/ns/mnt)" ]' ||
	late 'no other namespace'
umount_says 0 'also mounted elsewhere' umount "$MNT"
kill -0 "${DAEMON[$MNT]}" || fail 'the daemon has ended'
kill $sleeper
wait_daemon
