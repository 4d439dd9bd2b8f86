#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Symbolic links are grafts: into another mount, to a file, into this mount; absolute and relative.
. "${0%/*}/../lib.sh"

graft_is() {
	grep -q "^$1	$2	" "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
}

base=$(use stories260K)
donor=$(use stories260K-donor)
mkdir "$TMP/donor"
mount_model -o noassemble "$base"
mount_model -o ro "$donor" "$TMP/donor"
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$TMP/2.bin"

# Each link gives the model of a copy, byte for byte.
is_spliced() {
	"$GGUF" splice "$base" "$donor" "$1" "$TMP/expected"
	same "$MNT/model.gguf" "$TMP/expected"
	echo "$TMP/assembled.gguf" >"$MNT/.assemble"
	same "$TMP/assembled.gguf" "$TMP/expected"
}
undo() {
	rm "$MNT/organs/$1"
	cp "$MNT/.base/organs/$1" "$MNT/organs/$1"
	equal "$(cat "$MNT/.grafts")" ""
}
check_link() {
	local slot=$MNT/organs/blk_$1_ffn_up.bin
	equal "$(readlink "$slot")" "$2"
	same "$slot" "$TMP/donor/organs/blk_$1_ffn_up.bin"
	graft_is "organs/blk_$1_ffn_up.bin" "link"
	is_spliced "blk.$1.ffn_up.weight"
	same "${slot%.bin}.theta" "$TMP/donor/organs/blk_$1_ffn_up.theta"
}

expect_fail "File exists" ln -s "$TMP/2.bin" "$MNT/organs/blk_2_ffn_up.bin"
equal "$(cat "$MNT/.grafts")" ""

for target in "$TMP/donor/organs/blk_2_ffn_up.bin" \
	"../../${TMP##*/}/donor/organs/blk_2_ffn_up.bin" "$TMP/2.bin" "../../${TMP##*/}/2.bin"; do
	ln -sf "$target" "$MNT/organs/blk_2_ffn_up.bin"
	check_link 2 "$target"
	undo blk_2_ffn_up.bin
done

# rm and ln -s; a chain of links outside of the mount.
ln -s 2.bin "$TMP/first"
ln -s "$TMP/first" "$TMP/second"
rm "$MNT/organs/blk_2_ffn_up.bin"
ln -s "$TMP/second" "$MNT/organs/blk_2_ffn_up.bin"
check_link 2 "$TMP/second"

# A link leads to a link in this mount, by an absolute and a relative path.
ln -sf "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
ln -sf blk_3_ffn_up.bin "$MNT/organs/blk_4_ffn_up.bin"
same "$MNT/organs/blk_4_ffn_up.bin" "$TMP/2.bin"
"$GGUF" organ "$base" blk.0.ffn_up.weight "$TMP/0.bin"
echo "$TMP/assembled.gguf" >"$MNT/.assemble"
for block in 2 3 4; do
	"$GGUF" organ "$TMP/assembled.gguf" "blk.$block.ffn_up.weight" "$TMP/is"
	cmp -s -i 50 "$TMP/is" "$TMP/2.bin" || fail "block $block holds something else"
done
# The slot in the middle changes, and links to it follow.
cp --remove-destination "$TMP/0.bin" "$MNT/organs/blk_3_ffn_up.bin"
echo "$TMP/assembled.gguf" >"$MNT/.assemble"
"$GGUF" organ "$TMP/assembled.gguf" blk.4.ffn_up.weight "$TMP/is"
cmp -s -i 50 "$TMP/is" "$TMP/0.bin" || fail "block 4 does not follow block 3"

# A link into .base, and back to the slot's own base content.
ln -sf ../.base/organs/blk_4_ffn_up.bin "$MNT/organs/blk_4_ffn_up.bin"
same "$MNT/organs/blk_4_ffn_up.bin" "$MNT/.base/organs/blk_4_ffn_up.bin"

# Cases: new slots, moved ones, second names. ls shows them as links; cp -a and tar keep them.
ln -s "$TMP/2.bin" "$MNT/organs/blk_5_ffn_up.bin"
mv "$MNT/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"
ln "$MNT/organs/blk_6_ffn_up.bin" "$MNT/organs/blk_5_ffn_up.bin"
equal "$(readlink "$MNT/organs/blk_5_ffn_up.bin")" "$TMP/2.bin"
equal "$(find "$MNT/organs" -type l | wc -l)" 4
mkdir "$TMP/copy"
cp -a "$MNT/organs" "$TMP/copy"
equal "$(readlink "$TMP/copy/organs/blk_6_ffn_up.bin")" "$TMP/2.bin"
rm "$MNT/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"
rsync -rl "$TMP/copy/organs/" --include='*_[56]_ffn_up.bin' --exclude='*' "$MNT/organs/"
equal "$(readlink "$MNT/organs/blk_6_ffn_up.bin")" "$TMP/2.bin"
same "$MNT/organs/blk_6_ffn_up.bin" "$TMP/2.bin"
rm "$MNT/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"

# A link outside of slots is a scratch file.
ln -s somewhere "$MNT/organs/note"
equal "$(readlink "$MNT/organs/note")" somewhere
rm "$MNT/organs/note"
mv "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/aside~"
absent "$MNT/organs/blk_2_ffn_up.bin"
mv "$MNT/organs/aside~" "$MNT/organs/blk_2_ffn_up.bin"
equal "$(readlink "$MNT/organs/blk_2_ffn_up.bin")" "$TMP/second"

# The next mount has them too, after a crash, and finds the new target of one of them.
before=$(cut -f 1,2 "$MNT/.grafts")
kill_daemon
cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$TMP/other"
mv "$TMP/other" "$TMP/2.bin"
mount_model -o noassemble "$base"
equal "$(cut -f 1,2 "$MNT/.grafts")" "$before"
same "$MNT/organs/blk_2_ffn_up.theta" "$TMP/donor/organs/blk_1_ffn_up.theta"
# The same mount finds a new target too.
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$TMP/other"
mv "$TMP/other" "$TMP/2.bin"
same "$MNT/organs/blk_2_ffn_up.theta" "$TMP/donor/organs/blk_2_ffn_up.theta"
unmount_and_wait
unmount_and_wait "$TMP/donor"
