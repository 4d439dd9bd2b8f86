#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A file that is no adapter for the model is refused at once with the reason, and changes nothing.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
a=$TMP/a.gguf
pair=blk_0_attn_q_weight_lora
"$LORA" make "$base" "$a" 'blk.[01].attn_q.weight'
"$LORA" host "$TMP/host.gguf"
mount_model -o noassemble "$base"

# refused REASON TARGET [NAME]: a link to TARGET fails.
refused() {
	local name=${3-x.gguf}
	expect_fail 'invalid argument' ln -s "$2" "$MNT/adapters/$name"
	log_says "adapters/.*: refused: .*$1.*; nothing is changed"
	absent "$MNT/adapters/$name"
}

refused 'not half' "$base"
refused '.' "$GGUF"
refused 'not a regular file' "$TMP"
mkfifo "$TMP/fifo"
refused 'not a regular file' "$TMP/fifo"
refused 'leads into this mount' "$MNT/model.gguf"
refused 'leads into this mount' ../nothing.gguf
refused 'holds a number' "$a" x.scale
"$LORA" make "$TMP/host.gguf" "$TMP/b.gguf" blk.0.attn_q.weight
refused 'lora_b is 4x16.* 64x64' "$TMP/b.gguf"
"$LORA" make "$TMP/host.gguf" "$TMP/b.gguf" 'blk.0.ffn_gate_exps.weight'
refused 'no tensor blk.0.ffn_gate_exps.weight' "$TMP/b.gguf"
"$LORA" make "$base" "$TMP/b.gguf" 'blk.1.*' --drop blk.1.attn_k.weight.lora_b
refused 'blk.1.attn_k.weight.lora_a has no other half' "$TMP/b.gguf"
"$GGUF" edit "$a" "$TMP/b.gguf" adapter.type=string:mora
refused 'no LoRA adapter' "$TMP/b.gguf"
"$GGUF" edit "$a" "$TMP/b.gguf" general.type=string:model
refused 'no LoRA adapter' "$TMP/b.gguf"
"$GGUF" edit "$a" "$TMP/b.gguf" general.architecture=string:controlvector
refused 'another architecture' "$TMP/b.gguf"
head -c 300 "$a" >"$TMP/b.gguf"
refused '.' "$TMP/b.gguf"
equal "$(cat "$MNT/.grafts")" ''

# The limit on adapters is not a full disk.
for i in {1..31}; do
	ln -s "$a" "$MNT/adapters/$i.gguf"
done
expect_fail 'no space left' ln -s "$a" "$MNT/adapters/32.gguf"
log_says 'adapters/32.gguf: refused: a model takes at most 31 adapters: remove one; nothing'
rm "$MNT"/adapters/*.gguf

# Every malformed file is refused or broken, and the daemon lives.
for file in "$MALFORMED"/*.gguf; do
	expect_fail 'invalid argument' ln -s "$file" "$MNT/adapters/x.gguf"
done
# An adapter may have any file name.
name=$'a b\n%s"\'$(x)'
ln -s "$a" "$MNT/adapters/$name.gguf"
equal "$(cat "$MNT/adapters/$name.scale")" 1
grep -q '^adapters/a%20b%0A%25s"' "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
rm "$MNT/adapters/$name.gguf"
# An adapter's file is linked and not copied.
expect_fail 'not permitted' cp "$a" "$MNT/adapters/a.gguf"
log_says 'cannot be copied here: link it'
cp "$a" "$MNT/adapters/.a.tmp"
expect_fail 'not permitted' mv "$MNT/adapters/.a.tmp" "$MNT/adapters/a.gguf"
log_says 'cannot be copied here: link it'

# A half is refused at close, with the reason.
"$GGUF" organ "$a" blk.0.attn_q.weight.lora_a "$TMP/half"
# not_a_half REASON FILE NAME: a copy of FILE fails.
not_a_half() {
	expect_fail 'invalid argument' cp "$2" "$MNT/adapters/$3.bin"
	log_says "adapters/$3.bin: graft refused: .*$1"
	absent "$MNT/adapters/$3.bin"
}
not_a_half 'no tensor blk.7.attn_q.weight' "$TMP/half" blk_7_attn_q_weight_lora_a
"$LORA" make "$TMP/host.gguf" "$TMP/b.gguf" 'blk.0.attn_[kq].weight' --rank 3
"$GGUF" organ "$TMP/b.gguf" blk.0.attn_k.weight.lora_a "$TMP/other"
not_a_half 'lora_a is 40x3.* 64x32' "$TMP/other" blk_0_attn_k_weight_lora_a
cp "$TMP/half" "$MNT/adapters/${pair}_a.bin"
"$LORA" make "$base" "$TMP/b.gguf" 'blk.0.attn_q.weight' --rank 3
"$GGUF" organ "$TMP/b.gguf" blk.0.attn_q.weight.lora_b "$TMP/other"
not_a_half 'lora_a has rank 4 and lora_b 3' "$TMP/other" "${pair}_b"
same "$MNT/model.gguf" "$base"
# A merged tensor whose shape no longer fits the adapter cannot be read.
unmount_and_wait
mount_model -o noassemble,shape=any "$base"
"$GGUF" organ "$a" blk.0.attn_q.weight.lora_b "$TMP/other"
cp "$TMP/other" "$MNT/adapters/${pair}_b.bin"
differ "$MNT/model.gguf" "$base"
"$GGUF" organ "$base" blk.0.attn_k.weight "$TMP/k"
cp "$TMP/k" "$MNT/skeleton/blk_0_attn_q.bin"
grep -q '^skeleton/blk_0_attn_q.bin	copy broken merged	' "$MNT/.grafts" ||
	fail "$(cat "$MNT/.grafts")"
log_says 'blk.0.attn_q.weight: cannot merge: .*does not fit'
expect_fail 'input/output' cat "$MNT/skeleton/blk_0_attn_q.bin"
expect_fail 'input/output' bash -c "echo '$TMP/x.gguf' >'$MNT/.assemble'"
rm "$MNT/adapters/${pair}_b.bin"
same "$MNT/skeleton/blk_0_attn_q.bin" "$TMP/k"
unmount_and_wait

# A model that lacks shards takes no adapter.
for shard in 1 3; do
	cp "$MODELS/stories260K-split-0000$shard-of-00003.gguf" "$TMP/"
done
mount_model "$TMP/stories260K-split-00001-of-00003.gguf"
expect_fail 'read-only|no such file' ln -s "$a" "$MNT/adapters/a.gguf"
unmount_and_wait
