#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Looks at links change nothing: a slot keeps the content of its last good target, also without the
# donor's mount, while that file is unchanged; so does the next mount, also after a crash.
. "${0%/*}/../lib.sh"

with_clock
base=$(use stories260K)
donor=$(use stories260K-donor)
state=$XDG_STATE_HOME/organfs
slot=$MNT/organs/blk_2_ffn_up.bin
mkdir "$TMP/donor"
"$GGUF" splice "$base" "$donor" blk.2.ffn_up.weight "$TMP/expected"

# graft_is KIND [TABLE]: check the kind in .grafts.
graft_is() {
	equal "$(cut -f 1,2 "${2-$MNT/.grafts}")" "organs/blk_2_ffn_up.bin	$1"
}

# Repeat the look until the donor's time has expired.
look_in_vain() {
	cat "$MNT/.grafts" >"$TMP/looked" &
	until_true 60 has_thread_inside "${DAEMON[$MNT]}" || fail 'the donor is not asked'
	later 4
	wait $! || fail 'a look fails'
}

link_and_unmount_donor() {
	mount_model -o noassemble "$donor" "$TMP/donor"
	ln -sf "$TMP/donor/organs/blk_2_ffn_up.bin" "$slot"
	unmount_and_wait "$TMP/donor"
}

# The unmount writes the same with and without a look.
for look in no yes; do
	mount_model "$base"
	link_and_unmount_donor
	[ $look = no ] || graft_is link
	unmount_and_wait
	same "$TMP/stories260K.grafted.gguf" "$TMP/expected"
	rm "$TMP/stories260K.grafted.gguf"
done

# The donor's mount hangs, is dead, is gone: its organs lie in a file on disk.
mount_model -o noassemble "$base"
mount_model -o noassemble "$donor" "$TMP/donor"
ln -sf "$TMP/donor/organs/blk_2_ffn_up.bin" "$slot"
stop "${DAEMON[$TMP/donor]}"
look_in_vain
graft_is link "$TMP/looked"
graft_is link
same "$MNT/model.gguf" "$TMP/expected"
kill -9 "${DAEMON[$TMP/donor]}"
wait "${DAEMON[$TMP/donor]}" 2>/dev/null || true
graft_is link
fusermount3 -uz "$TMP/donor"
graft_is link
same "$MNT/model.gguf" "$TMP/expected"
rm "$slot"
cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$slot"
unmount_and_wait

# Cases: after a crash, without the donor's mount, moved, in a copy of the layer.
mount_model -o noassemble "$base"
link_and_unmount_donor
kill_daemon
mount_model -o noassemble "$base"
graft_is link
equal "$(readlink "$slot")" "$TMP/donor/organs/blk_2_ffn_up.bin"
same "$MNT/model.gguf" "$TMP/expected"
mv "$slot" "$MNT/organs/blk_6_ffn_up.bin"
mv "$MNT/organs/blk_6_ffn_up.bin" "$slot"
unmount_and_wait
mount_model -o noassemble "$base"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
layer=$(echo "$state"/*)
# Print the recorded good target of the link.
seen() {
	layer_sql "$layer" "SELECT reference FROM slot WHERE kind = 'link'"
}
seen | grep -qx "model $donor" || fail "$(seen)"
mkdir "$TMP/layer"
tar -C "$layer" -c . | tar -C "$TMP/layer" -x
mount_model -o "layer=$TMP/layer" "$base"
same "$MNT/model.gguf" "$TMP/expected"

# Another file breaks the link. The same file again, with another inode and time, is whole.
cp -p "$donor" "$TMP/kept"
printf x | dd of="$donor" bs=1 seek=100 conv=notrunc status=none
graft_is "broken link"
mv "$donor" "$donor.away"
graft_is "broken link"
mv "$TMP/kept" "$donor"
touch "$donor"
graft_is link
same "$MNT/model.gguf" "$TMP/expected"

# The recorded target is checked.
unmount_and_wait
layer=$TMP/layer
layer_change "$layer" '.backup good.db'
# is_nothing REFERENCE: check an SQL expression as the record.
is_nothing() {
	layer_change "$layer" "UPDATE slot SET reference = $1 WHERE kind = 'link'"
	mount_model -o "layer=$layer" "$base"
	graft_is "broken link"
	unmount_and_wait
	cp good.db "$layer/layer.db"
}
is_nothing "replace(reference, 'blk.2.ffn_up', 'blk.2.ffn_down')"
is_nothing "replace(reference, 'model $donor', 'model /dev/zero')"
is_nothing "replace(reference, 'model $donor', 'model none')"
is_nothing 'substr(reference, 1, 100)'
is_nothing "''"
is_nothing NULL
mount_model -o "layer=$TMP/layer" "$base"
graft_is link

# rm removes the record too, and so does an undo.
rm "$slot"
equal "$(seen)" ''
graft_is removed
cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$slot"
link_and_unmount_donor
seen | grep -qx "model $donor" || fail "$(seen)"
cp --remove-destination "$MNT/.base/organs/blk_2_ffn_up.bin" "$slot"
equal "$(seen)" ''
equal "$(cat "$MNT/.grafts")" ""
unmount_and_wait

# A deleted organ file is gone, with and without a look.
cp "$TMP/stories260K.gguf" "$TMP/other.gguf"
for look in no yes; do
	"$GGUF" organ "$donor" blk.2.ffn_up.weight "$TMP/2.bin"
	mount_model "$TMP/other.gguf"
	ln -sf "$TMP/2.bin" "$slot"
	rm "$TMP/2.bin"
	[ $look = no ] || graft_is "broken link"
	fusermount3 -u "$MNT"
	status=0
	wait "${DAEMON[$MNT]}" || status=$?
	equal $status 1 "the daemon's exit status, look: $look"
	absent "$TMP/other.grafted.gguf"
	unset "DAEMON[$MNT]"
done

# A donor that hangs takes one thread, however many links lead there and however often a process
# looks, and no descriptors.
mkdir -p "$TMP/donor"
mount_model -o noassemble "$donor" "$TMP/donor"
mount_model -o noassemble "$base"
for block in 1 2 3 4; do
	ln -sf "$TMP/donor/organs/blk_${block}_ffn_up.bin" "$MNT/organs/"
	ln -sf "$TMP/donor/skeleton/blk_${block}_attn_q.bin" "$MNT/skeleton/"
done
threads() {
	ls "/proc/${DAEMON[$MNT]}/task" | wc -l
}
cat "$MNT/.grafts" >"$TMP/grafts"
descriptors_before=$(descriptors)
before=$(threads)
stop "${DAEMON[$TMP/donor]}"
look_in_vain
same "$TMP/grafts" "$TMP/looked"
for look in {1..12}; do
	cat "$MNT/.grafts" >"$TMP/grafts.now"
	same "$TMP/grafts" "$TMP/grafts.now"
done
until_true 60 eval '[ "$(threads)" -le $((before + 8)) ]' ||
	fail "$before threads before, $(threads) now"
no_leak $((descriptors_before + 8))
kill -CONT "${DAEMON[$TMP/donor]}"
unmount_and_wait
unmount_and_wait "$TMP/donor"
