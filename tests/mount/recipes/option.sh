#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -o recipe=: the recipe is in force when the mount is ready; otherwise there is no mount, and
# stderr lists everything that is missing.
. "${0%/*}/../lib.sh"

mkdir "$TMP/first" "$TMP/away" "$TMP/donor" "$TMP/recipes"
cp "$(use scribe-Q4_K_M)" "$TMP/first/base.gguf"
cp "$(use clerk-Q4_K_M)" "$TMP/first/clerk.gguf"
"$LORA" make "$TMP/first/base.gguf" "$TMP/first/style.gguf" 'blk.[01].attn_q.weight'
mount_model -o noassemble "$TMP/first/base.gguf"
mount_model -o ro "$TMP/first/clerk.gguf" "$TMP/donor"
cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/"
ln -s "$TMP/first/style.gguf" "$MNT/adapters/style.gguf"
cat "$TMP/donor/organs/blk_2_ffn_up.bin" | cat >"$MNT/organs/blk_2_ffn_up.bin"
cp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/away/piped.bin"
cp "$MNT/.recipe" "$TMP/away/recipe.yml"
cp "$MNT/model.gguf" "$TMP/whole.gguf"
unmount_and_wait "$MNT"
unmount_and_wait "$TMP/donor"
mv "$TMP/first/clerk.gguf" "$TMP/first/style.gguf" "$TMP/away"
rm -r "$XDG_STATE_HOME"

# Everything is missing: three lines, and no mount.
mv "$TMP/away/recipe.yml" "$TMP/recipes/recipe.yml"
if "$ORGANFS" -o recipe="$TMP/recipes/recipe.yml" "$TMP/first/base.gguf" "$MNT" 2>"$TMP/said"; then
	fail 'it is mounted'
fi
cat "$TMP/said"
equal "$(grep -c missing: "$TMP/said")" 3
! mountpoint -q "$MNT" || fail 'it is mounted'
[ ! -d "$XDG_STATE_HOME" ] || no_litter "$XDG_STATE_HOME"
for wrong in recipe="$TMP/nothing" recipe="$TMP/first/base.gguf" \
	"ro,recipe=$TMP/recipes/recipe.yml"; do
	if "$ORGANFS" -o "$wrong" "$TMP/first/base.gguf" "$MNT" 2>"$TMP/said"; then
		fail "-o $wrong is mounted"
	fi
	[ "$(wc -l <"$TMP/said")" = 1 ] || fail "$wrong: $(cat "$TMP/said")"
done

# The mount is in the background, with paths relative to the working directory.
(cd "$TMP" && mount_daemon -o noassemble,recipe=recipes/recipe.yml,donors=:away:no/such \
	"$TMP/first/base.gguf" "$MNT")
same "$MNT/model.gguf" "$TMP/whole.gguf"
equal "$(wc -l <"$MNT/.grafts")" 5
umount_waits() {
	local pid
	pid=$(daemon_of "$MNT")
	fusermount3 -u "$MNT"
	until_true 20 is_gone "$pid"
}
umount_waits

# The layer has the recipe, and the same line of fstab mounts again.
mount_model -o noassemble,recipe="$TMP/recipes/recipe.yml" "$TMP/first/base.gguf"
same "$MNT/model.gguf" "$TMP/whole.gguf"
unmount_and_wait "$MNT"
# Donors next to the recipe need no option.
cp "$TMP/recipes/recipe.yml" "$TMP/away/recipe.yml"
mount_model -o layer="$TMP/layer",recipe="$TMP/away/recipe.yml" "$TMP/first/base.gguf"
same "$MNT/model.gguf" "$TMP/whole.gguf"
unmount_and_wait "$MNT"

# The recipe's removals are in force; a daemon in the background ends.
mount_model -o noassemble,layer="$TMP/without" "$TMP/first/base.gguf"
rm "$MNT"/organs/blk_[01]_ffn_up.bin
cp "$MNT/.recipe" "$TMP/recipes/without.yml"
unmount_and_wait "$MNT"
mount_daemon -o noassemble,layer="$TMP/without2",recipe="$TMP/recipes/without.yml" \
	"$TMP/first/base.gguf" "$MNT"
absent "$MNT/organs/blk_0_ffn_up.bin"
absent "$MNT/organs/blk_1_ffn_up.bin"
umount_waits || fail 'the daemon stays'
