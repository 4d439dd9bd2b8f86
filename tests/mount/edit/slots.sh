#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# File tools remove, fill, add, move and link slots; an independent program computes the expected
# model.gguf; a crash loses nothing.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
touch -d '2023-03-03 03:03:03' "$donor"
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"
theirs=$TMP/donor
"$GGUF" organs "$base" | cut -f 1 | sort >"$TMP/names"

# tensors: print the names of model.gguf's tensors.
tensors() {
	"$GGUF" organs "$MNT/model.gguf" | cut -f 1 | sort
}
# holds NAME FILE: the tensor's data in model.gguf equal those of an organ file.
holds() {
	"$GGUF" organ "$MNT/model.gguf" "$1" "$TMP/tensor"
	cmp <(tail -c "$3" "$TMP/tensor") <(tail -c "$3" "$2") || fail "$1 is not $2"
	"$GGUF" organs "$MNT/model.gguf" | grep -q "^$1	" || fail "no $1"
}
size=$(getfattr --only-values -n user.organfs.extent "$MNT/organs/blk_2_ffn_up.bin" | sed 's/.*://')
tensors | diff - "$TMP/names" || fail 'names at first'

# rm empties a slot, and every program that makes a file anew can fill it again.
rm "$MNT/organs/blk_2_ffn_up.bin"
absent "$MNT/organs/blk_2_ffn_up.bin"
! ls -A "$MNT/organs" | grep blk_2_ffn_up || fail 'still listed'
equal "$(cat "$MNT/organs/blk_2_ffn_up.theta")" '' 'θ of an empty slot'
tensors | diff - <(grep -v '^blk\.2\.ffn_up\.weight$' "$TMP/names") || fail 'names after rm'
equal "$(cat "$MNT/.grafts")" "$(printf 'organs/blk_2_ffn_up.bin\tremoved\t-\t-\t0\t-\t-\t-\t-')"
expect_fail 'No such file' rm "$MNT/organs/blk_2_ffn_up.bin"
! ls "$MNT/organs" | grep -q blk_2_ffn_up || fail 'still listed'
cp "$theirs/organs/blk_2_ffn_up.bin" "$MNT/organs/"
same "$MNT/organs/blk_2_ffn_up.bin" "$theirs/organs/blk_2_ffn_up.bin"
install -m 644 "$theirs/organs/blk_3_ffn_up.bin" "$MNT/organs/"
same "$MNT/organs/blk_3_ffn_up.bin" "$theirs/organs/blk_3_ffn_up.bin"
cp --remove-destination "$theirs/organs/blk_4_ffn_up.bin" "$MNT/organs/"
same "$MNT/organs/blk_4_ffn_up.bin" "$theirs/organs/blk_4_ffn_up.bin"
cp "$theirs/organs/blk_5_ffn_up.bin" "$TMP/moving.bin"
mv "$TMP/moving.bin" "$MNT/organs/blk_5_ffn_up.bin"
same "$MNT/organs/blk_5_ffn_up.bin" "$theirs/organs/blk_5_ffn_up.bin"
equal "$(cut -f 2 "$MNT/.grafts" | sort -u)" copy
tensors | diff - "$TMP/names" || fail 'names after filling'

# A removed slot that is filled with junk stays removed.
rm "$MNT/organs/blk_1_ffn_up.bin"
expect_fail 'Invalid argument' cp /etc/hostname "$MNT/organs/blk_1_ffn_up.bin"
absent "$MNT/organs/blk_1_ffn_up.bin"
tensors | diff - <(grep -v '^blk\.1\.ffn_up\.weight$' "$TMP/names") || fail 'names after junk'
rm "$MNT/organs/blk_0_ffn_gate.bin"
expect_fail 'No such file' cat "$MNT/organs/blk_0_ffn_gate.bin"

# In a new slot's name the block counts, the organ's header gives the rest.
cp "$theirs/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"
ln "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_7_ffn_up.bin"
ln "$MNT/organs/blk_2_ffn_down.bin" "$MNT/organs/blk_7_ffn_down.bin"
mv "$MNT/organs/blk_3_ffn_gate.bin" "$MNT/organs/blk_10_ffn_gate.bin"
mv "$MNT/organs/blk_4_ffn_up.bin" "$MNT/organs/blk_5_ffn_up.bin"
holds blk.6.ffn_up.weight "$theirs/organs/blk_5_ffn_up.bin" "$size"
holds blk.7.ffn_up.weight "$theirs/organs/blk_2_ffn_up.bin" "$size"
holds blk.5.ffn_up.weight "$theirs/organs/blk_4_ffn_up.bin" "$size"
same "$MNT/organs/blk_7_ffn_down.bin" "$MNT/organs/blk_2_ffn_down.bin"
tensors >"$TMP/edited"
{
	grep -vE '^blk\.(1\.ffn_up|0\.ffn_gate|3\.ffn_gate|4\.ffn_up)\.weight$' "$TMP/names"
	printf 'blk.%s.weight\n' 6.ffn_up 7.ffn_up 7.ffn_down 10.ffn_gate
} | sort | diff - "$TMP/edited" || fail 'names after edits'
equal "$("$GGUF" organs "$MNT/model.gguf" | cut -f 1 | tail -n 4 | tr '\n' ' ')" \
	'blk.10.ffn_gate.weight blk.6.ffn_up.weight blk.7.ffn_down.weight blk.7.ffn_up.weight '
equal "$(awk '$2 == "reference"' "$MNT/.grafts" | wc -l)" 2
for name in x.bin blk_06_ffn_up.bin blk_7_attn_q.bin; do
	expect_fail 'Invalid argument' cp "$theirs/organs/blk_5_ffn_up.bin" "$MNT/organs/$name"
	absent "$MNT/organs/$name"
done
expect_fail 'Invalid argument' cp "$theirs/organs/blk_5_ffn_up.bin" "$MNT/norm/blk_6_ffn_up.bin"

# θ, the report and the manifest include the added slots.
equal "$(cat "$MNT/organs/blk_7_ffn_up.theta")" "$(cat "$theirs/organs/blk_2_ffn_up.theta")"
equal "$(awk '$1 == "model" && $2 == "tensors" { print $3 }' "$MNT/.theta")" \
	"$(wc -l <"$TMP/edited")"
equal "$(jq -r '.tensors[].name' "$MNT/manifest.json" | sort)" "$(cat "$TMP/edited")"
equal "$(cat "$MNT"/*/.theta | grep -vc '^file')" "$(wc -l <"$TMP/edited")"

# SIGKILL, like a power cut.
cp "$MNT/model.gguf" "$TMP/before"
cut -f 1-3 "$MNT/.grafts" | sort >"$TMP/grafts"
kill_daemon
mount_model "$base"
cut -f 1-3 "$MNT/.grafts" | sort | diff - "$TMP/grafts" || fail 'grafts after a crash'
same "$MNT/model.gguf" "$TMP/before"

# The removal of an added slot leaves no trace; a moved slot returns under its first name.
rm "$MNT/organs/blk_6_ffn_up.bin" "$MNT/organs/blk_7_ffn_up.bin" "$MNT/organs/blk_7_ffn_down.bin"
! grep -qE 'blk_[67]_' "$MNT/.grafts" || fail 'traces of an added slot'
mv "$MNT/organs/blk_10_ffn_gate.bin" "$MNT/organs/blk_3_ffn_gate.bin"
! grep -qE 'blk_(10|3)_ffn_gate' "$MNT/.grafts" || fail 'traces of a slot that came back'
holds blk.3.ffn_gate.weight "$MNT/organs/blk_3_ffn_gate.bin" "$size"
unmount_and_wait "$theirs"
unmount_and_wait
exists "$TMP/scribe-Q4_K_M.grafted.gguf"
no_litter "$XDG_STATE_HOME"
