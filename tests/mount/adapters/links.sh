#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Symbolic links between slots that adapters change: the target is merged once, however many links
# are read, and a link loop is broken. The file of a removed adapter stays open only while a
# process reads a merged organ.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
a=$TMP/a.gguf
"$LORA" make "$base" "$a" 'blk.[012].attn_q.weight'
mount_model -o noassemble "$base"
ln -s "$a" "$MNT/adapters/a.gguf"
q() {
	echo "$MNT/skeleton/blk_$1_attn_q.bin"
}

# Links lead to a merged slot, to a merged link, and to a slot without adapter.
cp "$(q 1)" "$TMP/merged"
"$GGUF" organ "$base" blk.4.attn_q.weight "$TMP/plain"
ln -sf blk_1_attn_q.bin "$(q 3)"
same "$(q 3)" "$TMP/merged"
ln -sf blk_4_attn_q.bin "$(q 1)"
ln -sf blk_1_attn_q.bin "$(q 3)"
cp "$(q 1)" "$TMP/merged"
for _ in 1 2 3; do
	same "$(q 1)" "$TMP/merged"
	same "$(q 3)" "$TMP/merged"
done
ln -sf blk_3_attn_q.bin "$(q 4)"
until_true 60 eval "grep -q 'blk_3_attn_q.bin	broken link' '$MNT/.grafts'" ||
	fail "no ring: $(cat "$MNT/.grafts")"
for i in 1 3 4; do
	expect_fail 'symbolic links|input/output' cat "$(q $i)"
done
cp --remove-destination "$MNT/.base/skeleton/"blk_[134]_attn_q.bin "$MNT/skeleton/"

# A link leads to itself.
ln -sf blk_0_attn_q.bin "$(q 0)"
for _ in 1 2 3; do
	expect_fail 'symbolic links|input/output' cat "$(q 0)"
	grep -q '^skeleton/blk_0_attn_q.bin	broken link' "$MNT/.grafts" ||
		fail "$(cat "$MNT/.grafts")"
done
cp --remove-destination "$MNT/.base/skeleton/blk_0_attn_q.bin" "$MNT/skeleton/"

holds_adapter() {
	ls -l "/proc/${DAEMON[$MNT]}/fd" | grep -qF -- "-> $a"
}
exec 3<"$(q 2)"
rm "$MNT/adapters/a.gguf"
cat <&3 >"$TMP/read"
differ "$TMP/read" "$(q 2)"
holds_adapter || fail 'the open file has lost its adapter'
exec 3<&-
ls -l "$MNT/skeleton" >"$TMP/list" # this drops the kernel's references too
until_true 60 eval '! holds_adapter' || fail 'the file of an adapter that is gone is held'
unmount_and_wait

