#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mv from another filesystem, install and cp --remove-destination unlink a slot before they write
# its file anew. If that file is refused, the slot gets its former content back, also after a
# remount. A removal by another process stays, and so does content that fills the slot meanwhile.
. "${0%/*}/../lib.sh"

mkdir "$TMP/models"
cp "$(use stories260K)" "$TMP/models/base.gguf"
cp "$(use stories260K-donor)" "$TMP/models/donor.gguf"
"$GGUF" organ "$TMP/models/donor.gguf" blk.1.ffn_up.weight "$TMP/small.bin"
"$GGUF" organ "$TMP/models/donor.gguf" token_embd.weight "$TMP/large.bin"
printf 'unlike' | dd of="$TMP/large.bin" bs=1 seek=100000 conv=notrunc status=none # unlike the base
"$GGUF" organ "$TMP/models/base.gguf" blk.1.ffn_down.weight "$TMP/bad.bin"
organ=organs/blk_1_ffn_up.bin
large=embed/token_embd.bin # its copy is a file of blobs/

base() {
	true
}
copy() {
	cp "$TMP/small.bin" "$MNT/base/$organ"
}
large_copy() {
	cp "$TMP/large.bin" "$MNT/base/$large"
}
reference() {
	cp "$MNT/donor/$organ" "$MNT/base/$organ"
}
link() {
	ln -sf "$MNT/donor/$organ" "$MNT/base/$organ"
}

# A restored link has another time.
state() {
	sha256sum <"$slot"
	awk -F '\t' -v OFS='\t' '$2 == "link" { $7 = "" } 1' "$MNT/base/.grafts"
}

# said PATTERN: check the last line of the model's log.
said() {
	tail -n 1 "$MNT/base/.log" | grep -Eq -- "$1" || fail ".log says: $(tail "$MNT/base/.log")"
}

moves() {
	cp "$TMP/bad.bin" "$TMP/moving.bin"
	mv "$TMP/moving.bin" "$1"
}

# refused COMMAND...: it fails; the slot is its last word.
refused() {
	local before
	before=$(state)
	expect_fail 'Invalid argument' "$@" "$slot"
	equal "$(state)" "$before" "$filled, $*"
	said 'graft refused: .*; its removal .* undone, and the slot has its former content again$'
}

mount_model -o noassemble "$TMP/models"
for filled in base copy large_copy reference link; do
	slot=$MNT/base/$organ
	[ $filled != large_copy ] || slot=$MNT/base/$large
	$filled
	refused moves
	refused install -m 644 "$TMP/bad.bin"
	refused cp --remove-destination "$TMP/bad.bin"
	before=$(state)
	unmount_and_wait
	mount_model -o noassemble "$TMP/models"
	equal "$(state)" "$before" "$filled, after a remount"
	echo all >"$MNT/base/.undo"
	equal "$(wc -c <"$MNT/base/.grafts")" 0 "bytes in .grafts after $filled"
done

# Fitting organs are grafted, and nothing comes back.
slot=$MNT/base/$organ
cp "$TMP/small.bin" "$TMP/moving.bin"
mv "$TMP/moving.bin" "$slot"
same "$slot" "$TMP/small.bin"

# The replaced copy is not held.
cp "$TMP/large.bin" "$MNT/base/$large"
cp "$TMP/large.bin" "$TMP/moving.bin"
mv "$TMP/moving.bin" "$MNT/base/$large"
no_deleted() {
	! ls -l "/proc/${DAEMON[$MNT]}/fd" | grep 'blobs/.*(deleted)'
}
no_deleted || fail 'a replaced copy is held open'
echo "$large" >"$MNT/base/.undo"

# anew CODE: python3 unlinks the slot and opens a file p of its name; bad is refused content.
anew() {
	python3 -c '
import os, signal, sys
slot, bad, undo, control = sys.argv[1], open(sys.argv[2], "rb").read(), *sys.argv[3:]
os.unlink(slot)
'"$1" "$slot" "$TMP/bad.bin" "${2:-$MNT/base}/.undo" "$TMP/control"
}

echo 'a writer that is killed'
before=$(state)
! anew 'p = open(slot, "wb", 0); p.write(bad[:100]); os.kill(os.getpid(), signal.SIGKILL)'
is_undone() {
	tail -n 1 "$MNT/base/.log" | grep -q 'but the file has .* undone, and the slot has'
}
until_true 20 is_undone || late "$(tail "$MNT/base/.log")"
equal "$(state)" "$before" 'after the writer was killed'

echo 'a writer that ends before its first byte'
is_back() {
	[ -e "$slot" ] && [ "$(state)" = "$before" ]
}
anew 'open(slot, "wb").close()'
until_true 20 is_back || late "$(tail "$MNT/base/.log")"
! anew 'p = open(slot, "wb", 0); os.kill(os.getpid(), signal.SIGKILL)'
until_true 20 is_back || late "$(tail "$MNT/base/.log")"

echo 'the slot is filled meanwhile'
expect_fail 'Invalid argument' anew 'p = open(slot, "wb", 0)
open(undo, "w").write("all\n")
p.write(bad); os.close(p.fileno())'
said 'graft refused: .*; the slot keeps its content$'
same "$slot" "$MNT/base/.base/$organ"
equal "$(wc -c <"$MNT/base/.grafts")" 0 'bytes in .grafts'

echo 'another slot is removed meanwhile'
expect_fail 'Invalid argument' anew 'os.unlink(slot.replace("_1_", "_2_"))
p = open(slot, "wb", 0)
p.write(bad); os.close(p.fileno())'
said 'graft refused: .*; the slot stays removed, as it was before; \.undo brings back'
absent "$slot"
echo all >"$MNT/base/.undo"

echo 'another process removes it'
rm "$slot"
expect_fail 'Invalid argument' cp "$TMP/bad.bin" "$slot"
said 'graft refused: .*; the slot stays removed, as it was before; \.undo brings back'
absent "$slot"
expect_fail 'Invalid argument' moves "$slot"
absent "$slot"
unmount_and_wait
mount_model -o noassemble "$TMP/models"
absent "$slot"
unmount_and_wait

echo 'the disk fails before the refusal'
failing_disk "$TMP/back" "$TMP/disk"
mount_model -o "noassemble,layer=$TMP/disk/layer" "$TMP/models/base.gguf"
for filled in organs/blk_1_ffn_up.bin embed/token_embd.bin; do
	slot=$MNT/$filled
	[ $filled != embed/token_embd.bin ] || cp "$TMP/large.bin" "$slot"
	expect_fail 'Invalid argument' anew 'p = open(slot, "wb", 0); p.write(bad)
open(control, "w").write("change EIO\n")
os.close(p.fileno())' "$MNT"
	fault
	log_says 'graft refused: .*; the slot stays removed, as it was before; \.undo brings back'
	absent "$slot"
	grep -q "^$filled	removed	" "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
	echo all >"$MNT/.undo"
	exists "$slot"
done
unmount_and_wait
end_disk "$TMP/disk"
