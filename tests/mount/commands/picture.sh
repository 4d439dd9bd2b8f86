#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --picture prints theta.svg without a mount or a trace. A file that is no model gives one
# line with the reason and no output.
. "${0%/*}/../lib.sh"

picture() {
	"$ORGANFS" --picture "$@" >"$TMP/picture" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
	[ ! -s "$TMP/err" ] || fail "it says $(cat "$TMP/err")"
}
# refused: exit 1, a matching line, and no picture.
refused() {
	local status=0
	"$ORGANFS" --picture "$2" >"$TMP/picture" 2>"$TMP/err" || status=$?
	equal $status 1 "$2"
	equal "$(wc -l <"$TMP/err")" 1 "lines of $(cat "$TMP/err")"
	grep -Eq -- "$1" "$TMP/err" || fail "$2: $(cat "$TMP/err")"
	[ ! -s "$TMP/picture" ] || fail "a picture of $2"
}

base=$(use scribe-Q4_K_M)
mkdir "$TMP/only"
mv "$base" "$TMP/only/--x <\"&> %s
.gguf"
base=$TMP/only/$(ls "$TMP/only")
mount_model -o ro "$base"
picture "$base"
same "$TMP/picture" "$MNT/theta.svg"
picture "$TMP/only"
same "$TMP/picture" "$MNT/theta.svg"
picture -o samples=512 "$base"
differ "$TMP/picture" "$MNT/theta.svg"
unmount_and_wait

# The picture shows the base: grafts of an earlier mount stay unused.
mount_model -o noassemble "$base"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
unmount_and_wait
find "$XDG_STATE_HOME" -printf '%p %T@\n' >"$TMP/before"
picture "$base"
find "$XDG_STATE_HOME" -printf '%p %T@\n' | diff "$TMP/before" - || fail 'the state was touched'
mount_model -o ro "$base"
same "$TMP/picture" "$MNT/theta.svg"
unmount_and_wait

# Any shard gives the model; a lone shard gives its own tensors.
cp "$MODELS"/stories260K-split-*.gguf "$TMP"
mount_model -o ro "$TMP/stories260K-split-00001-of-00003.gguf"
picture "$TMP/stories260K-split-00002-of-00003.gguf"
same "$TMP/picture" "$MNT/theta.svg"
unmount_and_wait
rm "$TMP/stories260K-split-00001-of-00003.gguf" "$TMP/stories260K-split-00003-of-00003.gguf"
"$ORGANFS" --picture "$TMP/stories260K-split-00002-of-00003.gguf" >"$TMP/picture" 2>"$TMP/err" ||
	fail "of one shard: $(cat "$TMP/err")"
tail -n 1 "$TMP/picture" | grep -qx '</svg>' || fail 'no whole picture of one shard'

for model in "$MALFORMED/magic-lfs.gguf" "$TMP/none.gguf" "$TMP/err"; do
	refused "^organfs: $model: ." "$model"
done
refused 'models in this directory' "$MODELS"
expect_fail 'standard output: No space left' sh -c '"$1" --picture "$2" >/dev/full' sh \
	"$ORGANFS" "$base"
