#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Links that lead nowhere, in a loop, to a file that is no organ or is unreadable, or to a hung
# mount: they are kept as broken grafts, refused if they can never be a graft, and block nothing.
. "${0%/*}/../lib.sh"

graft_is() {
	grep -q "^$1	$2	" "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
}

base=$(use stories260K)
donor=$(use stories260K-donor)
slot=$MNT/organs/blk_2_ffn_up.bin
mkdir "$TMP/donor"
mount_model "$base"
mount_model -o noassemble "$donor" "$TMP/donor"

# broken TARGET REASON: the link exists, and .grafts and the assembly call it broken.
broken() {
	ln -sfn "$1" "$slot"
	equal "$(readlink "$slot")" "$1"
	is_broken "$2"
}
is_broken() {
	graft_is "organs/blk_2_ffn_up.bin" "broken link"
	expect_fail "Input/output error" in_time 20 bash -c "echo '$TMP/x.gguf' >'$MNT/.assemble'"
	assembly_says "organs/blk_2_ffn_up.bin: a link to .*: $1"
	absent "$TMP/x.gguf"
	expect_fail "Input/output error" cat "$MNT/model.gguf"
	expect_fail "Input/output error" cat "${slot%.bin}.theta"
	# The others are unchanged.
	"$GGUF" organ "$base" blk.3.ffn_up.weight "$TMP/3.bin"
	same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/3.bin"
	stat "$MNT/model.gguf" "$MNT/.theta" "$MNT/manifest.json" >"$TMP/stat"
}

# If the disk does not answer for seconds, a link is broken until the next look.
comes_to_be_expected() {
	until_true 60 cmp -s "$MNT/model.gguf" "$TMP/expected" 2>"$TMP/said" ||
		fail "$(cat "$TMP/said"; tail -n 3 "$MNT/.log")"
}

broken /nowhere/at/all.bin "No such file"
broken ../../../../nowhere.bin "No such file"
broken blk_2_ffn_up.bin "Too many levels"
broken "$slot" "Too many levels"
ln -s a "$TMP/b"
ln -s b "$TMP/a"
broken "$TMP/a" "Too many levels"
broken "$base/x" "Not a directory"
broken ../norm/nothing.bin "No such file"
broken ../model.gguf "No such file"
broken ../.views/fractal/organs/blk_2_ffn_up.bin "No such file or directory among the organs"
broken .. "No such file"
broken "$(printf 'x%.0s' {1..300})" "File name too long"
# An existing target that can be no graft is refused, and the slot keeps its content.
refused() {
	expect_fail "Operation not permitted" ln -sfn "$1" "$slot"
	log_says "organs/blk_2_ffn_up.bin: graft refused: .*$2.*keeps its content"
	is_broken "File name too long"
}
refused "$TMP" "not a regular file"
mkfifo "$TMP/fifo"
refused "$TMP/fifo" "not a regular file"
refused /dev/null "not a regular file"
refused "$base" "a GGUF file, not an organ"
refused "$TMP/donor/organs/blk_2_ffn_down.bin" "shape"
refused "$TMP/donor/organs/.theta" "not an organ file"
: >"$TMP/empty"
refused "$TMP/empty" "not an organ file"
rm "$slot"
expect_fail "Invalid argument" ln -s "$TMP/empty" "$slot"
absent "$slot"
# A new slot needs a name that a tensor of another block has.
expect_fail "No such file" ln -s /nowhere "$MNT/organs/blk_2_what.bin"
ln -s /nowhere "$MNT/organs/blk_7_ffn_up.bin"
graft_is "organs/blk_7_ffn_up.bin" "broken link"
rm "$MNT/organs/blk_7_ffn_up.bin"

# The target appears, disappears, and comes back.
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$TMP/2.bin"
ln -s "$TMP/2.bin" "$slot"
"$GGUF" splice "$base" "$donor" blk.2.ffn_up.weight "$TMP/expected"
comes_to_be_expected
mv "$TMP/2.bin" "$TMP/gone.bin"
is_broken "No such file"
echo junk >"$TMP/2.bin"
is_broken ".*not an organ file"
mv "$TMP/gone.bin" "$TMP/2.bin"
comes_to_be_expected

# The donor's mount ends, dies, hangs, and the target exists nowhere else: one clear error, in
# time.
ln -sfn "$TMP/donor/.views/fractal/organs/blk_2_ffn_up.bin" "$slot"
cp "$MNT/model.gguf" "$TMP/expected"
stop "${DAEMON[$TMP/donor]}"
started=$(milliseconds)
is_broken "no answer came in time"
cat "$MNT/organs/blk_3_ffn_up.bin" >/dev/null
kill -CONT "${DAEMON[$TMP/donor]}"
[ $(($(milliseconds) - started)) -lt 60000 ] || fail "waited for $(($(milliseconds) - started)) ms"
comes_to_be_expected
kill -9 "${DAEMON[$TMP/donor]}"
wait "${DAEMON[$TMP/donor]}" 2>/dev/null || true
is_broken ".*not connected"
fusermount3 -uz "$TMP/donor"
is_broken "No such file"

# If the target is missing, the unmount writes nothing and keeps the layer.
fusermount3 -u "$MNT"
status=0
wait "${DAEMON[$MNT]}" || status=$?
equal $status 1 "the daemon's exit status"
absent "$TMP/stories260K.grafted.gguf"
unset "DAEMON[$MNT]" "DAEMON[$TMP/donor]"
mount_model -o noassemble "$donor" "$TMP/donor"
mount_model "$base"
comes_to_be_expected
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"
unmount_and_wait "$TMP/donor"
