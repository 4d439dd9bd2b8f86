#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A write to .undo undoes in one step everything, a class, a file, the metadata or the adapters;
# after a crash all or nothing. A copy of .undo's text undoes nothing.
# timeout: 240
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor"
mount_model -o ro "$donor" "$TMP/donor"
"$LORA" make "$base" "$TMP/style.gguf" 'blk.[01].attn_q.weight'
mount_model -o noassemble "$base"

# change: make every kind of change.
change() {
	cp "$TMP/donor/organs/"blk_{1,2}_ffn_*.bin "$MNT/organs/"
	cp "$MNT/.base/organs/blk_3_ffn_up.bin" "$MNT/organs/blk_40_ffn_up.bin"
	ln -sf "$TMP/donor/skeleton/blk_1_attn_q.bin" "$MNT/skeleton/blk_1_attn_q.bin"
	ln -f "$MNT/skeleton/blk_2_attn_q.bin" "$MNT/skeleton/blk_3_attn_q.bin"
	rm "$MNT/skeleton/blk_4_attn_q.bin" "$MNT/norm/blk_4_attn_norm.bin"
	mv "$MNT/norm/blk_1_attn_norm.bin" "$MNT/norm/blk_2_attn_norm.bin"
	echo other >"$MNT/metadata/general.name"
	echo new >"$MNT/metadata/general.remark"
	rm "$MNT/metadata/general.type"
	ln -sf "$TMP/style.gguf" "$MNT/adapters/style.gguf"
	echo 0.5 >"$MNT/adapters/style.scale"
}

words() {
	sed -n 's/^# //p' "$MNT/.undo" | cut -f 1
}

all_is_undone() {
	equal "$(cat "$MNT/.grafts")" ''
	equal "$(cat "$MNT/.undo")" '# nothing is changed'
	same "$MNT/model.gguf" "$base"
	absent "$MNT/organs/blk_40_ffn_up.bin"
	absent "$MNT/metadata/general.remark"
	absent "$MNT/adapters/style.gguf"
	absent "$MNT/adapters/style.scale"
	empty_layer "$XDG_STATE_HOME"/organfs/*
}

equal "$(cat "$MNT/.undo")" '# nothing is changed'
change
cat "$MNT/.undo"
! grep -qv '^# ' "$MNT/.undo" || fail 'a line is no comment'
for word in all skeleton organs norm metadata adapters organs/blk_1_ffn_up.bin \
	organs/blk_40_ffn_up.bin skeleton/blk_4_attn_q.bin metadata/general.name \
	metadata/general.type metadata/general.remark adapters/style.gguf \
	adapters/style.scale; do
	words | grep -qx "$word" || fail "$word is not in .undo: $(cat "$MNT/.undo")"
done

# Open files keep their content.
exec 3<"$MNT/organs/blk_1_ffn_up.bin" 4<"$MNT/organs/blk_40_ffn_up.bin"
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/one"
echo all >"$MNT/.undo"
all_is_undone
same /dev/fd/3 "$TMP/one"
same /dev/fd/4 "$MNT/.base/organs/blk_3_ffn_up.bin"
exec 3<&- 4<&-
log_says '\.undo: [0-9]+ changes are undone'
echo all >"$MNT/.undo"
all_is_undone
kill_daemon
mount_model -o noassemble "$base"
all_is_undone

# The words name parts.
change
cp "$MNT/.undo" "$TMP/before"
echo organs >"$MNT/.undo"
! words | grep organs || fail "$(cat "$MNT/.undo")"
echo metadata/ >"$MNT/.undo"
! words | grep metadata || fail "$(cat "$MNT/.undo")"
equal "$(cat "$MNT/metadata/general.type")" model
echo skeleton/blk_4_attn_q.bin >"$MNT/.undo"
same "$MNT/skeleton/blk_4_attn_q.bin" "$MNT/.base/skeleton/blk_4_attn_q.bin"
echo blk_1_attn_q.bin >"$MNT/.undo"
[ ! -L "$MNT/skeleton/blk_1_attn_q.bin" ] || fail 'the link is still there'
echo adapters/style.scale >"$MNT/.undo"
equal "$(cat "$MNT/adapters/style.scale")" 1
equal "$(words | grep -v ^write | tr '\n' ' ')" "$(echo all skeleton norm adapters \
	norm/blk_1_attn_norm.bin norm/blk_2_attn_norm.bin skeleton/blk_3_attn_q.bin \
	norm/blk_4_attn_norm.bin adapters/style.gguf '')" "$(cat "$MNT/.undo")"
# A line without a newline is obeyed at the release, after the close.
printf 'blk_3_attn_q\n\nnorm\nadapters' | tee "$MNT/.undo" >/dev/null
until_true 20 test ! -s "$MNT/.grafts" || fail "the last line is not obeyed: $(cat "$MNT/.grafts")"
all_is_undone
printf nonsense >"$MNT/.undo"
log_comes_to_say '\.undo: refused: "nonsense"'
# Lines of .grafts work as well.
change
grep clerk "$MNT/.grafts" >"$MNT/.undo"
! grep clerk "$MNT/.grafts" || fail 'grafts of the donor are still there'
sed 's/^# //' "$MNT/.undo" | sed 1d >"$TMP/lines"
cp "$TMP/lines" "$MNT/.undo"
all_is_undone

# A wrong word prevents all others.
change
cp "$MNT/.grafts" "$TMP/grafts"
for wrong in nonsense organs/nonsense.bin organs/ffn metadata/no.such adapters/no.gguf \
	../organs /organs "$MNT/organs" adapters/lora .base .base/organs 'organs embed' '*'; do
	printf 'organs\n%s\n' "$wrong" >"$TMP/wrong"
	expect_fail 'invalid argument' cp "$TMP/wrong" "$MNT/.undo"
	log_says '\.undo: refused: '
	same "$MNT/.grafts" "$TMP/grafts"
done
printf 'all\0\n' >"$TMP/wrong"
expect_fail 'invalid argument' cp "$TMP/wrong" "$MNT/.undo"
same "$MNT/.grafts" "$TMP/grafts"

# The text of .undo, of this or another mount, undoes nothing.
cp "$MNT/.undo" "$TMP/said"
cp "$TMP/said" "$MNT/.undo"
cp "$TMP/donor/.undo" "$MNT/.undo"
: >"$MNT/.undo"
cat "$TMP/said" "$TMP/before" >>"$MNT/.undo"
truncate -s 0 "$MNT/.undo"
touch "$MNT/.undo"
same "$MNT/.grafts" "$TMP/grafts"
expect_fail 'read-only' eval 'echo all >"$TMP/donor/.undo"'
expect_fail '' rm -f "$MNT/.undo"
mkdir "$TMP/tree"
(cd "$MNT" && tar cf - .undo .grafts organs) | tar xf - -C "$TMP/tree"
same "$TMP/tree/.undo" "$MNT/.undo"
equal "$(wc -c <"$MNT/.undo")" "$(stat -c %s "$MNT/.undo")"
# The process that wrote the text has to close it.
{
	echo norm
	/bin/true
	words | grep -qx norm || fail 'undone before it was closed'
} >"$MNT/.undo"
! words | grep norm || fail 'not undone'
cp -r "$TMP/donor/." "$MNT/" 2>/dev/null || true
exists "$MNT/organs/blk_40_ffn_up.bin"
exists "$MNT/adapters/style.gguf"
echo all >"$MNT/.undo"
all_is_undone

# After a kill at any moment everything is undone, or nothing.
change
sort "$MNT/.grafts" | cut -f 1,2 >"$TMP/whole"
undone=0
for delay in 0 0.001 0.002 0.003 0.004 0.006 0.008 0.01 0.015 0.02 0.03 0.05; do
	# The path starts at this mount's root, so that a late writer makes no file beneath it.
	exec 3<"$MNT"
	(echo all >/dev/fd/3/.undo) 2>/dev/null &
	sleep $delay
	kill_daemon
	wait $! 2>/dev/null || true
	exec 3<&-
	mount_model -o noassemble "$base"
	if [ -s "$MNT/.grafts" ]; then
		sort "$MNT/.grafts" | cut -f 1,2 | diff - "$TMP/whole" ||
			fail "half undone after $delay s"
	else
		undone=$((undone + 1))
		all_is_undone
		change
	fi
done
echo "$undone of 12 undone"
echo all >"$MNT/.undo"
all_is_undone
unmount_and_wait

# Each of several models has its own .undo.
mkdir "$TMP/m"
cp "$base" "$TMP/m/a.gguf"
cp "$base" "$TMP/m/b.gguf"
mount_model -o noassemble "$TMP/m"
absent "$MNT/.undo"
rm "$MNT/a/organs/blk_1_ffn_up.bin" "$MNT/b/organs/blk_1_ffn_up.bin"
echo all >"$MNT/a/.undo"
equal "$(cat "$MNT/a/.grafts")" ''
equal "$(wc -l <"$MNT/b/.grafts")" 1
echo all >"$MNT/b/.undo"
unmount_and_wait
unmount_and_wait "$TMP/donor"
