#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .diff/OTHER.lora-R.gguf: a LoRA adapter from the difference of two models. It recovers a merged
# adapter, turns one model into the other in adapters/, and has the same bytes and size however it
# is read; .lora-R.tsv gives the kept part of the difference.
. "${0%/*}/../lib.sh"

D=$MNT/.diff
exact() {
	local size
	size=$(stat -c %s "$1")
	equal "$(wc -c <"$1")" "$size" "bytes of $1"
}
# total COLUMN FILE: column of the total line.
total() {
	awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
		$1 == "total" { print $at + 0 }' "$2"
}
more() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }' || fail "$1 is not more than $2: $3"
}

base=$(use stories260K)
other=$TMP/other.gguf
"$LORA" make "$base" "$TMP/made.gguf" token_embd.weight 'blk.0.attn_[qk].weight' \
	blk.1.ffn_up.weight --rank 3 --alpha 0.3
"$LORA" merge "$base" "$other" "$TMP/made.gguf=1" >/dev/null
mount_model -o noassemble "$base"
ln -s "$other" "$D/"
equal "$(ls -A "$D" | grep -c lora)" 0 'adapters that are listed'
exact "$D/other.lora-3.gguf"
exact "$D/other.lora-3.tsv"
equal "$(stat -c %i "$D/other.lora-3.gguf")" "$(stat -c %i "$D/other.lora-3.gguf")"
for name in other.lora-0.gguf other.lora-257.gguf other.lora-03.gguf other.lora-.gguf \
	other.lora-3 other.lora-3.svg other.lora-3x.gguf nothing.lora-3.gguf \
	other.lora-99999999999.gguf other.lora-3.gguf.tsv other.lora-3.tsv.gguf other.lora-+3.gguf \
	other.lora--1.gguf .lora-3.gguf; do
	absent "$D/$name"
done
exists "$D/other.lora-256.tsv"

# Rank 3 keeps the whole difference.
table=$TMP/table
cp "$D/other.lora-3.tsv" "$table"
equal "$(head -n 1 "$table" | cut -f 5- | tr '\t' ' ')" 'rank norm kept-1 kept-2 kept-3 status'
equal "$(wc -l <"$table")" "$(($(wc -l <"$D/other.tsv") + 1))" 'lines of the table'
more "$(total kept-3 "$table")" 0.999 'rank 3 of 3'
more 0.999 "$(total kept-2 "$table")" 'rank 2 of 3'
more "$(total kept-2 "$table")" "$(total kept-1 "$table")" 'a higher rank'
equal "$(awk -F '\t' 'NR > 1 && $6 > 0 && $1 != "total" { print $4 }' "$table" | tr '\n' ' ')" \
	'token_embd.weight blk.0.attn_q.weight blk.0.attn_k.weight blk.1.ffn_up.weight '
equal "$(cut -f 5- "$D/base.lora-3.tsv" | grep -c 'same$')" "$(($(wc -l <"$table") - 2))"

# The bytes are the same as a whole, in odd parts, and from a fresh mount.
adapter=$TMP/adapter.gguf
cp "$D/other.lora-3.gguf" "$adapter"
dd if="$D/other.lora-3.gguf" bs=7777 2>/dev/null | cmp - "$adapter" || fail 'parts are other bytes'
mkdir "$TMP/mnt"
mount_model -o ro "$adapter" "$TMP/mnt"
equal "$(cat "$TMP/mnt/adapters/lora.alpha")" 3
equal "$(cat "$TMP/mnt/metadata/general.type" "$TMP/mnt/metadata/general.architecture" \
	"$TMP/mnt/metadata/adapter.type" | tr '\n' ' ')" 'adapter llama lora '
unmount_and_wait "$TMP/mnt"

# In adapters/ it turns one model into the other.
mount_model -o noassemble "$base" "$TMP/mnt"
ln -s "$adapter" "$TMP/mnt/adapters/"
ln -s "$other" "$TMP/mnt/.diff/"
dd if="$TMP/mnt/.diff/other.tsv" of="$TMP/left" bs=1M 2>/dev/null
awk -F '\t' 'NR > 1 && $11 + 0 > 0.001 { print $4, $11; wrong = 1 } END { exit wrong }' \
	"$TMP/left" || fail 'the largest difference from the other model'
awk -F '\t' '$4 == "blk.0.attn_q.weight" { exit !($9 + 0 < 1e-5) }' "$TMP/left" ||
	fail "the adapter is not in force: $(cat "$TMP/left")"
rm "$TMP/mnt/adapters/adapter.gguf"
same "$TMP/mnt/.diff/other.lora-3.gguf" "$adapter"
unmount_and_wait "$TMP/mnt"

# The models are in one mount.
mkdir "$TMP/models"
cp "$base" "$other" "$TMP/models"
mount_model -o ro "$TMP/models" "$TMP/mnt"
same "$TMP/mnt/stories260K/.diff/other.lora-3.gguf" "$adapter"
same "$TMP/mnt/stories260K/.diff/other.lora-3.tsv" "$table"
unmount_and_wait "$TMP/mnt"

# Without a difference the adapter is zero; with a graft it has the graft.
cp "$D/base.lora-2.gguf" "$TMP/zeros.gguf"
mount_model -o ro "$TMP/zeros.gguf" "$TMP/mnt"
equal "$(ls "$TMP/mnt/adapters" | grep -c '_lora_a\.bin$')" 1 'pairs where nothing differs'
unmount_and_wait "$TMP/mnt"
before=$(stat -c %i "$D/base.lora-2.gguf")
exec 5<"$D/base.lora-2.gguf"
cp "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
[ "$(stat -c %i "$D/base.lora-2.gguf")" != "$before" ] || fail 'the same file after a graft'
cmp - "$TMP/zeros.gguf" <&5 || fail 'an open file changed'
exec 5<&-
equal "$(awk -F '\t' '$5 > 0 && $1 != "total" { print $4 }' "$D/base.lora-2.tsv" | tail -n 1)" \
	blk.2.ffn_up.weight

# Names and links.
expect_fail 'File exists' ln -s "$other" "$D/other.lora-3.gguf"
expect_fail 'denied|not permitted' rm "$D/other.lora-3.gguf"
expect_fail 'denied|not permitted' bash -c "echo x >$D/other.lora-3.gguf"
ln -s "$TMP/none" "$D/none.gguf"
absent "$D/none.lora-3.gguf"
log_says 'none\.lora-3\.gguf: cannot be made: .*no model'
expect_fail 'No such file' stat "$D/none.lora-4.gguf"
equal "$(grep -c 'none\.lora-4\.gguf: cannot be made' "$MNT/.log")" 1 'lines of one look'
ln -s "$MODELS/scribe-Q4_K_M.gguf" "$D/apart.gguf"
expect_fail 'No such file' stat "$D/apart.lora-3.gguf"
equal "$(grep -c 'apart.*cannot be made: no matrix' "$MNT/.log")" 1 'lines of one look'
rm "$D/apart.gguf"
expect_fail 'File exists' ln -s "$other" "$D/none.lora-3.gguf"
log_says 'none\.lora-3\.gguf: refused: .*another model called none'
unmount_and_wait

# A long computation can be interrupted, and does not delay the unmount.
python3 - "$TMP" <<'EOF'
import os, struct, sys
for name in "ab":
    n = 2048
    rows = [struct.pack("<e32s", 0.01, os.urandom(32)) * (n // 32) for _ in range(64)]
    tensor = b"blk.0.attn_q.weight"
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0)
    head += struct.pack("<Q", len(tensor)) + tensor + struct.pack("<IQQIQ", 2, n, n, 8, 0)
    with open(f"{sys.argv[1]}/{name}.gguf", "wb") as f:
        f.write(head + bytes(-len(head) % 32))
        f.writelines(rows * (n // 64))
EOF
mount_model -o noassemble "$TMP/a.gguf"
ln -s "$TMP/b.gguf" "$D/"
equal "$(timeout -s INT -k 20 0.3 cat "$D/b.lora-256.gguf" >/dev/null; echo $?)" 124
equal "$(timeout -k 20 0.3 cat "$D/b.lora-256.tsv" >/dev/null; echo $?)" 124
in_time 60 head -c 16000 "$D/b.lora-1.gguf" >"$TMP/head" || fail 'no adapter after an interrupt'
equal "$(wc -c <"$TMP/head")" 16000
# The removal of the link fails a reader of its adapter too.
cat "$D/b.lora-256.gguf" >"$TMP/part" 2>"$TMP/said" &
reader=$!
until_true 60 test "/proc/$reader/fd/3" -ef "$D/b.lora-256.gguf" || late 'it is not read'
rm "$D/b.gguf"
! wait $reader || fail 'all of an adapter whose link is gone'
grep -q 'Input/output error' "$TMP/said" || fail "$(cat "$TMP/said")"
log_says 'b\.gguf: cannot be read: its file or link was removed'
unmount_and_wait
