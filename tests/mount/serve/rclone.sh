#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# release: needs rclone
# rclone lists, copies and synchronises a mount over WebDAV; its grafts equal cp's.
. "${0%/*}/../lib.sh"

need rclone
export RCLONE_CONFIG=$TMP/rclone.conf RCLONE_CACHE_DIR=$TMP/cache
: >"$RCLONE_CONFIG"
scribe=$(use scribe-Q4_K_M)
mkdir "$TMP/donor" "$TMP/models" "$TMP/out"
mount_model -o ro "$MODELS/clerk-Q4_K_M.gguf" "$TMP/donor"
mount_model -o noassemble "$scribe"
cp "$TMP"/donor/organs/*.bin "$MNT/organs/"
cp "$TMP"/donor/norm/*ffn_norm.bin "$MNT/norm/"
cp "$MNT/model.gguf" "$TMP/expected.gguf"
unmount_and_wait
rm -rf "$XDG_STATE_HOME/organfs"

# Another model is mounted too, which moves the tree one level down.
cp "$MODELS/stories260K.gguf" "$TMP/models/"
mv "$scribe" "$TMP/models/"
mount_model -o noassemble "$TMP/models"
serve --output "$TMP/out" "$MNT"
printf '[mount]\ntype = webdav\nurl = %s\nvendor = other\n' "$URL" >"$RCLONE_CONFIG"
model=scribe-Q4_K_M

rclone ls "mount:$model/organs" | sed 's/^ *//' | sort >"$TMP/listed"
(cd "$MNT/$model/organs" && stat -c '%s %n' .theta ./*) | sed 's|\./||' | sort |
	cmp - "$TMP/listed" || fail 'rclone ls'
equal "$(rclone lsf --dirs-only mount:)" $'scribe-Q4_K_M/\nstories260K/'
rclone copy "mount:$model/embed" "$TMP/embed"
diff -r "$TMP/embed" "$MNT/$model/embed" || fail 'rclone copy out of the mount'

# All organs of a slot have one size, and rclone compares only sizes by default.
rclone sync --ignore-times "$TMP/donor/organs" "mount:$model/organs"
rclone copy --ignore-times --include '*_ffn_norm.*' "$TMP/donor/norm" "mount:$model/norm"
same "$MNT/$model/model.gguf" "$TMP/expected.gguf"
status 200 -X PUT -d out.gguf "$URL$model/.assemble"
same "$TMP/out/out.gguf" "$TMP/expected.gguf"

# A refused copy fails with the refusal's status and changes nothing, although rclone then requests
# the deletion of the unwritten file; a second DELETE is obeyed.
cp "$MNT/$model/organs/blk_0_ffn_up.bin" "$TMP/kept"
expect_fail '422 Unprocessable' rclone --retries 1 --low-level-retries 1 copyto /etc/passwd \
	"mount:$model/organs/blk_0_ffn_up.bin"
log_says "$model/organs/blk_0_ffn_up.bin: graft refused"
same "$MNT/$model/organs/blk_0_ffn_up.bin" "$TMP/kept"
same "$MNT/$model/model.gguf" "$TMP/expected.gguf"
rclone deletefile "mount:$model/organs/blk_0_ffn_up.bin"
absent "$MNT/$model/organs/blk_0_ffn_up.bin"
rclone copyto "$TMP/kept" "mount:$model/organs/blk_0_ffn_up.bin"

# Server and rclone copy from slot to slot without moving bytes. (rclone does so only to an absent
# target.)
rclone deletefile "mount:$model/skeleton/blk_0_attn_k.bin"
absent "$MNT/$model/skeleton/blk_0_attn_k.bin"
rclone copyto "mount:$model/skeleton/blk_1_attn_k.bin" "mount:$model/skeleton/blk_0_attn_k.bin"
grep -q '^skeleton/blk_0_attn_k.bin	reference	' "$MNT/$model/.grafts" ||
	fail "COPY: $(cat "$MNT/$model/.grafts")"

unmount_served
unmount_and_wait "$TMP/donor"
