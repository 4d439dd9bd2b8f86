#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# A daemon killed during a recipe leaves all its changes or none, and all right after its end; the
# donors of grafts by cp, rsync, tar, cat and links are the same after a crash.
# timeout: 400
. "${0%/*}/../lib.sh"

need rsync
cp "$(use stories260K)" "$TMP/base.gguf"
cp "$(use stories260K-donor)" "$TMP/donor.gguf"
mkdir "$TMP/donor"
mount_model -o ro "$TMP/donor.gguf" "$TMP/donor"
mount_model -o noassemble "$TMP/base.gguf"
again() {
	kill_daemon
	mount_model -o noassemble"${1:+,$1}" "$TMP/base.gguf"
}

# Provenance of grafts.
cp "$TMP/donor/organs/blk_0_ffn_up.bin" "$MNT/organs/"
rsync -a --inplace "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/"
rsync -a "$TMP/donor/organs/blk_2_ffn_up.bin" "$MNT/organs/"
tar -C "$TMP/donor" -cf "$TMP/t.tar" organs/blk_3_ffn_up.bin
tar -C "$MNT" -xf "$TMP/t.tar"
cat "$TMP/donor/organs/blk_4_ffn_up.bin" >"$MNT/organs/blk_4_ffn_up.bin"
cat "$TMP/donor/organs/blk_0_ffn_down.bin" | cat >"$MNT/organs/blk_0_ffn_down.bin"
cp "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_9_ffn_up.bin"
cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_7_ffn_up.bin"
ln -sf "$TMP/donor/skeleton/blk_1_attn_q.bin" "$MNT/skeleton/blk_1_attn_q.bin"
mv "$MNT/norm/blk_1_attn_norm.bin" "$MNT/norm/blk_2_attn_norm.bin"
cp "$MNT/.views/fractal/skeleton/blk_0_attn_v.bin" "$MNT/skeleton/"
cp "$MNT/.recipe" "$TMP/recipe.yml"
sort "$MNT/.grafts" >"$TMP/grafts"
cp "$MNT/model.gguf" "$TMP/whole.gguf"
again
sort "$MNT/.grafts" | diff "$TMP/grafts" - || fail '.grafts is another one after a crash'
diff "$TMP/recipe.yml" "$MNT/.recipe" || fail '.recipe is another one after a crash'
cp "$MNT/organs/blk_0_ffn_down.bin" "$TMP/piped.bin"
# rsync and cat do not show the file that they read.
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/first.bin"
cp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/second.bin"
cp "$MNT/organs/blk_3_ffn_up.bin" "$TMP/third.bin"

# Right after the end everything is there.
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$TMP/base.gguf"
cp "$TMP/recipe.yml" "$MNT/.recipe" || fail "$(cat "$MNT/.log")"
again
same "$MNT/model.gguf" "$TMP/whole.gguf"

# kinds FILE: grafts with their kinds; a recipe makes a link to another mount a reference.
kinds() {
	cut -f 1,2 "$1" | sed s/reference/link/ | sort
}

# killed_amid BASE: kill at any moment of that recipe; the model is then the base or whole.gguf.
killed_amid() {
	local base=$1 none=0 all=0 delay writer
	for delay in 0.002 0.005 0.01 0.015 0.02 0.03 0.04 0.06 0.1; do
		echo all >"$MNT/.undo"
		rm -f "$MNT/.merge"
		cp "$TMP/recipe.yml" "$MNT/.recipe" 2>/dev/null &
		writer=$!
		sleep "$delay"
		kill_daemon
		wait "$writer" || true
		# A late cp has written into the bare directory.
		rm -f "$MNT/.recipe"
		mount_model -o noassemble "$base"
		if cmp -s "$MNT/model.gguf" "$base"; then
			none=$((none + 1))
			equal "$(cat "$MNT/.grafts")" ''
			absent "$MNT/.merge"
		else
			all=$((all + 1))
			same "$MNT/model.gguf" "$TMP/whole.gguf"
			kinds "$MNT/.grafts" | diff "$TMP/kinds" - || fail 'not all of it'
		fi
	done
	echo "nothing $none times, all of it $all times"
}
kinds "$TMP/grafts" >"$TMP/kinds"
killed_amid "$TMP/base.gguf"
unmount_and_wait "$MNT"
unmount_and_wait "$TMP/donor"

# The recipe also puts a merge beneath the grafts in force.
base=$(use scribe-Q4_K_M)
cp "$(use clerk-Q4_K_M)" "$TMP/beneath.gguf"
"$GGUF" organ "$TMP/beneath.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
cat >"$TMP/merge.yml" <<-'END'
	merge_method: linear
	models:
	- {model: scribe-Q4_K_M, parameters: {weight: 0.75}}
	- {model: ./beneath.gguf, parameters: {weight: 0.25}}
END
cd "$TMP"
mount_model -o noassemble "$base"
cp merge.yml "$MNT/.merge"
cp organ.bin "$MNT/organs/blk_1_ffn_up.bin"
cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$MNT/organs/"
rm "$MNT/organs/blk_3_ffn_up.bin"
echo merged >"$MNT/metadata/general.name"
cp "$MNT/.recipe" recipe.yml
cp "$MNT/model.gguf" whole.gguf
kinds "$MNT/.grafts" >kinds
grep -q '^merge:' recipe.yml || fail "$(cat recipe.yml)"
killed_amid "$base"
unmount_and_wait
