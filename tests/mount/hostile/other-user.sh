#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Another user sees nothing of a mount and leaves nothing in it. The layer is closed to others, an
# assembled model has the base's mode, also during the write, and the mount's options in public
# tables have no password.
. "${0%/*}/../lib.sh"

need_root
need setpriv
chmod 755 "$ORGANFS_TEST_DIR" "$TMP"
mkdir "$TMP/out"
chmod 755 "$TMP/out"
base=$(use scribe-Q4_K_M)
chmod 600 "$base"
umask 022
other() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
other test -x "$TMP" || skip "$TMP is closed to other users"
mount_held pwrite64 -o noassemble "$base"
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
cp "$TMP/organ.bin" "$MNT/organs/blk_2_ffn_up.bin"
layer=$(echo "$XDG_STATE_HOME"/organfs/*)
organ=$(layer_file "$layer" organs/blk_2_ffn_up)
exists "$organ"

for path in "$MNT" "$MNT/organs" "$MNT/organs/blk_1_ffn_up.bin" "$MNT/.log"; do
	expect_fail 'permission denied' other ls "$path"
done
expect_fail 'permission denied' other cp "$organ" "$MNT/organs/"
expect_fail 'permission denied' other cat "$layer/layer.db"
expect_fail 'denied|not permitted|superuser' other umount "$MNT"
expect_fail 'permission denied' other cat "/proc/${DAEMON[$MNT]}/root/$MNT/.log"
expect_fail 'permission denied' other ls "/proc/${DAEMON[$MNT]}/fd"
expect_fail 'not permitted' other kill "${DAEMON[$MNT]}"
for name in layer.db layer.db-wal blobs reserve; do
	exists "$layer/$name"
done
equal "$(find "$layer" -type d -printf '%m\n' | sort -u)" 700 'rights of directories'
equal "$(find "$layer" -type f -printf '%m\n' | sort -u)" 600 'rights of files'

# The model is being written, then complete.
hold
echo "$TMP/out/new.gguf" >"$MNT/.assemble" &
writer=$!
until_true 60 have_arrived 1 || late 'nothing is written'
equal "$(ls -A "$TMP/out" | wc -l)" 1 'files'
for file in "$TMP/out"/* "$TMP/out"/.[!.]*; do
	[ -e "$file" ] || continue
	equal "$(stat -c %a "$file")" 600 "$file"
	expect_fail 'permission denied' other head -c 1 "$file"
done
release
wait $writer || fail "$(cat "$MNT/.assemble")"
equal "$(stat -c %a "$TMP/out/new.gguf")" 600
same "$TMP/out/new.gguf" "$MNT/model.gguf"
unmount_and_wait
