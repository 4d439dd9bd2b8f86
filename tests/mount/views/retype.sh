#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A type chosen for a slot, by setfattr or by lines of .types, applies to any content of the slot,
# in organ files, model.gguf and the next mount, until the choice is removed.
. "${0%/*}/../lib.sh"

need setfattr
base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
cd "$TMP"
up=organs/blk_2_ffn_up.bin
type_of() {
	getfattr --absolute-names --only-values -n user.organfs.type "$MNT/$1"
}

mount_model -o "noassemble,layer=$TMP/layer" "$base"
types=$MNT/.views/types
cp "$types/q6_k/$up" expected
exec 3<"$MNT/$up"
setfattr -n user.organfs.type -v q6_k "$MNT/$up"
same "$MNT/$up" expected
equal "$(type_of $up)" Q6_K
equal "$(cut -f 1-3 "$MNT/.grafts")" "$up	retyped	Q6_K"
# A process that had the organ open reads the old content.
cat <&3 >held
exec 3<&-
same held "$MNT/.base/$up"
"$GGUF" organ "$MNT/model.gguf" blk.2.ffn_up.weight shown
same shown expected

# New content of the slot is converted: a copy, the result of merges and adapters, a link.
mkdir donor
mount_model -o ro "$donor" "$TMP/donor"
cp "donor/.views/types/q6_k/$up" expected
cp "donor/$up" "$MNT/$up"
same "$MNT/$up" expected
equal "$(cut -f 1-3 "$MNT/.grafts")" "$up	copy retyped	Q6_K"
cp "donor/$up" copied
ln -sf "$TMP/copied" "$MNT/$up"
same "$MNT/$up" expected
kill_daemon
mount_model -o "noassemble,layer=$TMP/layer" "$base"
same "$MNT/$up" expected
rm "$MNT/$up"
absent "$MNT/$up"
cp copied "$MNT/$up"
same "$MNT/$up" expected
# The choice belongs to the slot: another slot with the same organ shows it unconverted.
cp "$MNT/$up" "$MNT/organs/blk_3_ffn_up.bin"
same "$MNT/organs/blk_3_ffn_up.bin" "$MNT/$up"
setfattr -x user.organfs.type "$MNT/$up"
same "$MNT/$up" copied
equal "$(type_of organs/blk_3_ffn_up.bin)" Q6_K
expect_fail 'no such attribute' setfattr -x user.organfs.type "$MNT/$up"

# The base's type reverts the choice, and so does .undo.
echo all >"$MNT/.undo"
setfattr -n user.organfs.type -v Q5_0 "$MNT/$up"
setfattr -n user.organfs.type -v q4_k "$MNT/$up"
equal "$(cat "$MNT/.grafts")" ''
setfattr -n user.organfs.type -v Q5_0 "$MNT/$up"
grep -q "^# $up	retyped" "$MNT/.undo" || fail "$(cat "$MNT/.undo")"
echo "$up" >"$MNT/.undo"
same "$MNT/model.gguf" "$base"

# An impossible type is refused, and changes nothing.
for type in iq2_xxs iq3_xxs i32 nothing; do
	expect_fail 'invalid argument' setfattr -n user.organfs.type -v $type "$MNT/$up"
done
expect_fail 'invalid argument' bash -c "printf '%s\n' 'organs/* q8_0' 'organs/none q8_0' \
	>'$MNT/.types'"
log_says '"organs/none": there is no such tensor'
same "$MNT/model.gguf" "$base"

# general.file_type follows most matrices, and .check reports a type that llama.cpp lacks.
equal "$(cat "$MNT/metadata/general.file_type")" 15
printf '%s\n' 'organs/*_ffn_down q8_0' '* q5_0' >"$MNT/.types"
equal "$(cat "$MNT/metadata/general.file_type")" 8
! grep -q 'file_type' "$MNT/.check" || fail "$(cat "$MNT/.check")"
echo 'attn_[qk]=q5_0 attn_[vo]=q8_0 ffn_(up|gate)=q6_k' >"$MNT/.types"
equal "$(cat "$MNT/metadata/general.file_type")" 15
grep -q '^risky	file_type	' "$MNT/.check" || fail "$(cat "$MNT/.check")"
echo all >"$MNT/.undo"

# Lines of both kinds; the shown text can be written back.
printf '%s\n' '# comment' "$up q6_k" 'organs/*_ffn_* q5_k' >"$MNT/.types"
grep -v '_ffn_.* Q5_K' "$MNT/.types" | grep '_ffn_[gdu]' >others
equal "$(cat others)" "$up Q6_K"
printf 'ffn_(up|gate)=q3_k\nattn_[qk]\\.weight=iq4_xs blk\\.\\d\\.ffn_down=q8_0\n' >"$MNT/.types"
equal "$(grep -c 'Q3_K' "$MNT/.types")" 12
equal "$(grep -c 'IQ4_XS' "$MNT/.types")" 12
equal "$(grep -c 'ffn_down.bin Q8_0' "$MNT/.types")" 6
cat "$MNT/.types" >types
cat "$MNT/.recipe" >recipe
cp "$MNT/model.gguf" expected.gguf
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$base"
cat types >"$MNT/.types"
same "$MNT/model.gguf" expected.gguf
echo all >"$MNT/.undo"
cat recipe >"$MNT/.recipe"
same "$MNT/model.gguf" expected.gguf
echo written.gguf >"$MNT/.assemble"
same written.gguf expected.gguf
unmount_and_wait
# The layer is passed on.
mkdir elsewhere
tar -c -C layer . | tar -x -C elsewhere
mount_model -o "noassemble,layer=$TMP/elsewhere" "$base"
same "$MNT/model.gguf" expected.gguf
unmount_and_wait

# type=keep gives grafts the base's types, unless others are chosen.
mount_model -o noassemble,fresh,type=keep "$base"
cp "donor/.views/types/q8_0/$up" wide
cp "donor/.views/types/q8_0/organs/blk_3_ffn_up.bin" wide3
cp wide "$MNT/$up"
equal "$(type_of $up)" Q4_K
equal "$(stat -c %s "$MNT/model.gguf")" "$(stat -c %s "$base")"
setfattr -n user.organfs.type -v q8_0 "$MNT/$up"
same "$MNT/$up" wide
cat "$MNT/.recipe" >recipe
grep -q 'type: keep' recipe || fail "$(cat recipe)"
unmount_and_wait
mount_model -o noassemble,fresh "$base"
expect_fail 'invalid argument' sh -c "cat recipe >'$MNT/.recipe'"
log_says 'a mount with -o type=keep'
unmount_and_wait
unmount_and_wait "$TMP/donor"
