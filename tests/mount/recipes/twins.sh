#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A chimera of the base with organs of the base's types has the base's fingerprint, but is not the
# base: neither as a donor nor as a base, and not after a remount.
. "${0%/*}/../lib.sh"

mkdir "$TMP/models" "$TMP/copy" "$TMP/empty"
cp "$(use clerk-Q4_K_M)" "$TMP/models/clerk.gguf"
cp "$(use scribe-Q4_K_M)" "$TMP/scribe.gguf"
mount_model -o ro "$TMP/scribe.gguf" "$TMP/copy"
mount_model -o noassemble "$TMP/models/clerk.gguf"
cp "$TMP/copy"/organs/blk_2_ffn_{up,gate,down}.bin "$MNT/organs/"
echo "$TMP/models/tuned.gguf" >"$MNT/.assemble"
echo all >"$MNT/.undo"
unmount_and_wait "$MNT"
unmount_and_wait "$TMP/copy"
print() {
	sed -n 's/^  fingerprint: //p' "$1" | head -n 1
}

# again NAME: undo, replay the mount's recipe, and compare the model.
again() {
	cp "$at/.recipe" "$TMP/recipe.yml"
	cat "$TMP/recipe.yml"
	! grep -q 'donor: base' "$TMP/recipe.yml" || fail "$1: the donor is taken for the base"
	cp "$at/model.gguf" "$TMP/whole.gguf"
	! cmp -s "$TMP/whole.gguf" "$TMP/models/clerk.gguf" || fail "$1: nothing was grafted"
	echo all >"$at/.undo"
	same "$at/model.gguf" "$TMP/models/clerk.gguf"
	cp "$TMP/recipe.yml" "$at/.recipe" || fail "$1: $(cat "$at/.log")"
	same "$at/model.gguf" "$TMP/whole.gguf"
	cp "$TMP/recipe.yml" "$at/.recipe" || fail "$1: $(cat "$at/.log")"
	echo all >"$at/.undo"
}

# Two models of one mount give a reference.
mount_model -o noassemble "$TMP/models"
at=$MNT/clerk
cp "$MNT/tuned/organs/blk_2_ffn_up.bin" "$at/organs/"
equal "$(cut -f 2 "$at/.grafts")" reference
equal "$(print "$at/.recipe")" "$(sed -n '/^donors/,$s/^  fingerprint: //p' "$at/.recipe")"
again reference
cp "$MNT/tuned/organs/blk_2_ffn_up.bin" "$at/organs/"
cp "$at/model.gguf" "$TMP/referred.gguf"
unmount_and_wait "$MNT"
# The referenced model stays unchanged.
mount_model -o noassemble "$TMP/models"
same "$MNT/clerk/model.gguf" "$TMP/referred.gguf"
unmount_and_wait "$MNT"
mv "$TMP/models/tuned.gguf" "$TMP/empty/tuned.gguf"
mount_model -o noassemble "$TMP/models"
cut -f 2 "$MNT/clerk/.grafts" | grep -q broken || fail "$(cat "$MNT/clerk/.grafts")"
unmount_and_wait "$MNT"
mv "$TMP/empty/tuned.gguf" "$TMP/models/tuned.gguf"
rm -r "$XDG_STATE_HOME"

# The grafts are a link, and a copy from another mount.
mount_model -o ro "$TMP/models/tuned.gguf" "$TMP/copy"
mount_model -o noassemble "$TMP/models/clerk.gguf"
at=$MNT
ln -sf "$TMP/copy/organs/blk_2_ffn_up.bin" "$at/organs/blk_2_ffn_up.bin"
again link
equal "$(cat "$at/.grafts")" ''
cp "$TMP/recipe.yml" "$at/.recipe"
equal "$(cut -f 2 "$at/.grafts")" link
echo all >"$at/.undo"
cp "$TMP/copy/organs/blk_2_ffn_gate.bin" "$at/organs/"
again copy

# The recipe of a chimera applies only to that chimera.
unmount_and_wait "$TMP/copy"
mount_model -o noassemble "$TMP/models/tuned.gguf" "$TMP/copy"
echo name >"$TMP/copy/metadata/general.name"
cp "$TMP/copy/.recipe" "$TMP/tuned.yml"
equal "$(print "$TMP/tuned.yml")" "$(print "$TMP/recipe.yml")"
expect_fail 'Invalid argument' cp "$TMP/tuned.yml" "$at/.recipe"
log_says 'another base, tuned.gguf'
equal "$(cat "$at/.grafts")" ''
unmount_and_wait "$TMP/copy"
unmount_and_wait "$MNT"

# The right one of both models side by side is found under any name.
mkdir "$TMP/donors"
mv "$TMP/models/tuned.gguf" "$TMP/donors/b.gguf"
cp "$TMP/models/clerk.gguf" "$TMP/donors/a.gguf"
cp "$TMP/models/clerk.gguf" "$TMP/donors/tuned.gguf"
mount_model -o noassemble,fresh,donors="$TMP/donors" "$TMP/models/clerk.gguf"
cp "$TMP/recipe.yml" "$MNT/.recipe" || fail "$(cat "$MNT/.log")"
same "$MNT/model.gguf" "$TMP/whole.gguf"
unmount_and_wait "$MNT"
