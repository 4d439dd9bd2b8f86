#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Another user's merge in a mount of root's is in force at the next mount too, beside root's own
# grafts; its models are opened with that user's rights.
. "${0%/*}/../lib.sh"

need_root
need setpriv
USER_ID=12345
base=$(use stories260K) donor=$(use stories260K-donor)
cd "$TMP"
chmod 755 "$ORGANFS_TEST_DIR" "$TMP"
options="noassemble,allow_other,uid=$USER_ID,gid=$USER_ID"
as_user() {
	setpriv --reuid $USER_ID --regid $USER_ID --clear-groups "$@"
}

mount_model -o "$options" "$base"
echo "{merge_method: passthrough, models: [{model: $donor}]}" >m.yml
as_user sh -c "cat >'$MNT/.merge'" <m.yml || fail "$(cat "$MNT/.log")"
cp "$MNT/.base/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
cp "$MNT/model.gguf" merged.gguf
differ merged.gguf "$base"
unmount_and_wait
mount_model -o "$options" "$base"
same m.yml "$MNT/.merge"
same "$MNT/model.gguf" merged.gguf
unmount_and_wait
chmod 600 "$donor"
mount_model -o "$options" "$base"
expect_fail 'input/output error' cat "$MNT/organs/blk_2_ffn_up.bin"
unmount_and_wait
