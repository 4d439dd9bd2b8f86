#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Merges that lead to a disk that stopped answering do not delay a graft or a removal.
. "${0%/*}/../lib.sh"

[ "$(id -u)" = 0 ] || skip 'for root'
"$GGUF" small "$TMP/base.gguf" 4
"$GGUF" small "$TMP/donor.gguf" 4 --seed 2
mkdir "$TMP/disk" "$TMP/donor"
python3 "$here/../tools/liar.py" "$TMP/disk" 0 0 x once >"$TMP/ready" 2>&1 &
disk=$!
trap 'kill $disk 2>/dev/null || true; umount -l "$TMP/disk" 2>/dev/null || true' EXIT
until_true 60 grep -q ready "$TMP/ready" || late "no mount: $(cat "$TMP/ready")"
mount_model -o ro "$TMP/donor.gguf" "$TMP/donor"
mount_model -o noassemble "$TMP/base.gguf"

writers=()
for i in {1..12}; do
	echo "{merge_method: passthrough, models: [{model: $TMP/disk/m$i}]}" >"$TMP/m$i"
	cp "$TMP/m$i" "$MNT/.merge" 2>/dev/null &
	writers+=($!)
done
# All threads for requests to the disk hang.
is_silent() {
	[ "$(grep -c silent "$TMP/ready")" -ge 8 ]
}
until_true 60 is_silent || late "it is asked no more: $(cat "$TMP/ready")"
until_true 60 wait_inside "${writers[@]}" || late 'a merge does not wait'
in_time 20 cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/" || fail 'a graft waits'
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/donor/organs/blk_1_ffn_up.bin"
in_time 20 rm "$MNT/organs/blk_1_ffn_up.bin" || fail 'a removal waits'

# The disk is gone: all requests fail, and words are obeyed again.
kill $disk
wait $disk 2>/dev/null || true
for writer in "${writers[@]}"; do
	! wait "$writer" || fail 'a merge of nothing was taken'
done
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$TMP/base.gguf"
unmount_and_wait
unmount_and_wait "$TMP/donor"
