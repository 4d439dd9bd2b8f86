#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# A removal is durable when an fsync() of a directory has said so, also where something that changed
# nothing was done since: XFS writes nothing for a directory that was not changed.
. "${0%/*}/../lib.sh"

need python3
disk=$TMP/disk
mount_image xfs 400 "$disk"
trap 'umount -l "$disk" 2>/dev/null || true' EXIT
base=$(use scribe-Q4_K_M)
"$LORA" make "$base" "$TMP/style.gguf" '*.attn_q.weight'
mount_model -o "layer=$disk/layer" "$base"
ln -s "$TMP/style.gguf" "$MNT/adapters/"
sync -f "$disk"
python3 - "$MNT" <<'END'
import os, sys
os.unlink(sys.argv[1] + "/organs/blk_1_ffn_up.bin")
os.unlink(sys.argv[1] + "/adapters/style.scale")
os.fsync(os.open(sys.argv[1] + "/organs", os.O_RDONLY))
END
cut_power "$disk"
kill_daemon
restore_power xfs "$disk"
mount_model -o "layer=$disk/layer" "$base"
absent "$MNT/organs/blk_1_ffn_up.bin"
unmount_and_wait
