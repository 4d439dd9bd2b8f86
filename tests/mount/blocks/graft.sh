#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# blocks/N has the organs of a block under names without its number, the same files as in the
# classes, so that cp -r, rsync, rm -r, mv, ln, diff and sed of blocks graft, add and remove them.
. "${0%/*}/../lib.sh"

need rsync python3
base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor"
mount_model -o noassemble "$base"
mount_model -o ro "$donor" "$TMP/donor"
cd "$TMP"
number_and_links() {
	stat -c '%i %h' "$1"
}
equal "$(ls "$MNT/blocks" | xargs)" '0 1 2 3 4 5 order'
equal "$(number_and_links "$MNT/blocks/2/ffn_up.bin")" \
	"$(number_and_links "$MNT/organs/blk_2_ffn_up.bin")"
equal "$(stat -c %h "$MNT/blocks/2/ffn_up.bin" "$MNT/embed/token_embd.bin" | xargs)" '2 1'
equal "$(stat -c %h "$MNT"/.base/organs/blk_2_ffn_up.* | xargs)" '1 1'
same "$MNT/blocks/2/attn_q.theta" "$MNT/skeleton/blk_2_attn_q.theta"
equal "$(ls "$MNT/blocks/2" | wc -l)" "$(ls -d "$MNT"/*/blk_2_* | wc -l)"

# same_block N M: block N is block M of the donor, except for the headers.
same_block() {
	local organ
	for organ in donor/blocks/$2/*.bin; do
		cmp <(tail -c 1000 "$organ") <(tail -c 1000 "$MNT/blocks/$1/${organ##*/}") ||
			fail "block $1 is not block $2 of the donor: $organ"
	done
}

# cp -r makes a directory and opens files in it with O_EXCL.
cp -r donor/blocks/2 "$MNT/blocks/2"
same_block 2 2
diff -rq donor/blocks/2 "$MNT/blocks/2"
equal "$(cut -f 1,2 "$MNT/.grafts" | sed 's/blk_2/blk_N/' | sort)" \
	"$(ls -d donor/*/blk_2_*.bin | sed 's|donor/||; s|blk_2|blk_N|; s|$|\tcopy|' | sort)"
cp -r donor/blocks/1 "$MNT/blocks/2"
same_block 2 1
cp -r donor/blocks/5 "$MNT/blocks/"
same_block 5 5
rsync -a donor/blocks/0/ "$MNT/blocks/0/"
same_block 0 0
mv "$MNT/blocks/3/ffn_up.bin" "$MNT/blocks/4/ffn_up.bin"
absent "$MNT/organs/blk_3_ffn_up.bin"
sed -i '' "$MNT/blocks/4/ffn_up.bin"
ln "$MNT/blocks/4/ffn_up.bin" "$MNT/blocks/3/ffn_up.bin"
ln -sf "$PWD/donor/blocks/1/ffn_gate.bin" "$MNT/blocks/3/ffn_gate.bin"
equal "$(readlink "$MNT/organs/blk_3_ffn_gate.bin")" "$PWD/donor/blocks/1/ffn_gate.bin"
equal "$(ls -A "$MNT/other" 2>/dev/null)" ''
expect_fail 'invalid argument' cp "$base" "$MNT/blocks/3/ffn_up.bin"
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$base"

# A new block can only be the next one.
expect_fail 'not permitted' mkdir "$MNT/blocks/8"
log_says 'blocks/8: refused: .*the next one is 6'
expect_fail 'not permitted' mkdir "$MNT/blocks/2/x"
expect_fail 'not permitted' mkdir "$MNT/blocks/06"
mkdir "$MNT/blocks/6"
equal "$(cat "$MNT/.grafts")" ''
rmdir "$MNT/blocks/6"
expect_fail 'no such file' rmdir "$MNT/blocks/6"
expect_fail 'not empty' rmdir "$MNT/blocks/2"
cp -r donor/blocks/1 "$MNT/blocks/6"
same_block 6 1
equal "$(cat "$MNT/metadata/llama.block_count")" 7
cp -r donor/blocks/3 "$MNT/blocks/7"
same_block 7 3
rm -r "$MNT/blocks/7"
absent "$MNT/blocks/7"
equal "$(cat "$MNT/metadata/llama.block_count")" 7
kill_daemon
mount_model -o noassemble "$base"
same_block 6 1
rm -r "$MNT/blocks/6"
same "$MNT/model.gguf" "$base"

# A block is removed and copied again.
rm -r "$MNT/blocks/2"
equal "$(ls "$MNT/blocks" | xargs)" '0 1 3 4 5 order'
cp -r donor/blocks/2 "$MNT/blocks/2"
diff -rq donor/blocks/2 "$MNT/blocks/2"
rm -r "$MNT/blocks/2"
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$base"

# A copy of the whole mount has each organ once.
cp -a "$MNT" copied
absent copied/blocks
tar -cf - -C "$MNT" . | tar -t | grep blocks && fail 'tar has it'
rsync -a "$MNT/" synced
absent synced/blocks
equal "$(ls -A "$MNT" | grep -c '^blocks$' || true)" 0
unmount_and_wait
mount_model -o ro,views=listed "$base"
equal "$(ls -A "$MNT" | grep -c '^blocks$')" 1
ls -lR "$MNT/blocks" >listed
equal "$(grep -c 'ffn_up.bin$' listed)" 6
expect_fail 'read-only' mkdir "$MNT/blocks/6"
expect_fail 'read-only' rm "$MNT/blocks/2/ffn_up.bin"
unmount_and_wait
unmount_and_wait "$TMP/donor"
