#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The recipe of a model over a merge has the configuration and its models. It gives the same bytes,
# even if the models have other names and places by now, or changes nothing.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
cd "$TMP"
mkdir moved away

# record OPTIONS: save the shown model, and its recipe.
record() {
	cp "$MNT/.recipe" recipe.yml
	cp "$MNT/model.gguf" expected.gguf
	unmount_and_wait
}

without_places() {
	sed '/^[- ] \(path\|name\):/d'
}

# replayed: the recipe gives the same bytes and, except for paths, the same recipe, also at the
# next mount.
replayed() {
	mount_model -o "noassemble,fresh,donors=$TMP/moved" "$base"
	cp recipe.yml "$MNT/.recipe" || fail "$(tail -n 5 "$MNT/.log")"
	same "$MNT/model.gguf" expected.gguf
	same <(without_places <"$MNT/.recipe") <(without_places <recipe.yml)
	cp recipe.yml "$MNT/.recipe"
	log_says 'is already as the recipe says'
	kill_daemon
	mount_model -o noassemble "$base"
	cat "$MNT"/organs/*.bin >/dev/null
	same "$MNT/model.gguf" expected.gguf
	echo all >"$MNT/.undo"
	rm "$MNT/.merge"
	unmount_and_wait
}

# Grafts, a removal, a key and an adapter lie over a merge of two models, one of which is the base.
"$LORA" make "$base" style.gguf 'blk.0.ffn_up.weight'
cat >merge.yml <<-'END'
	merge_method: linear # as mergekit has it
	models:
	- model: scribe-Q4_K_M
	  parameters: {weight: 0.75}
	- {model: ./clerk-Q4_K_M.gguf, parameters: {weight: [0.25, 0.5]}}
END
mount_model -o noassemble "$base"
cp merge.yml "$MNT/.merge"
record
replayed
mount_model -o noassemble "$base"
cp merge.yml "$MNT/.merge"
cp "$MNT/.base/organs/blk_1_ffn_up.bin" "$MNT/organs/"
rm "$MNT/organs/blk_3_ffn_up.bin"
echo merged >"$MNT/metadata/general.name"
ln -s "$TMP/style.gguf" "$MNT/adapters/"
record
mv "$donor" moved/other-name.gguf
replayed

# The recipe changes nothing without its models.
mv moved/other-name.gguf away/
mount_model -o "noassemble,fresh,donors=$TMP/moved" "$base"
expect_fail 'invalid argument' cp recipe.yml "$MNT/.recipe"
log_has 'the model clerk-Q4_K_M.gguf of the merge is not found' || log_says clerk-Q4_K_M.gguf
[ ! -s "$MNT/.grafts" ] || fail "$(cat "$MNT/.grafts")"
mv away/other-name.gguf moved/
# The recipe changes nothing with an impossible graft.
sed 's/  from: blk.1.ffn_up.weight/  from: blk.99.ffn_up.weight/' recipe.yml >wrong.yml
expect_fail 'invalid argument' cp wrong.yml "$MNT/.recipe"
[ ! -s "$MNT/.grafts" ] || fail "$(cat "$MNT/.grafts")"
same "$MNT/model.gguf" "$base"
# The recipe changes nothing over another merge.
sed 's/0.75/0.7/' merge.yml | sed "s|./clerk-Q4_K_M.gguf|$TMP/moved/other-name|" >"$TMP/another.yml"
cp another.yml "$MNT/.merge"
cp "$MNT/.grafts" grafts
expect_fail 'invalid argument' cp recipe.yml "$MNT/.recipe"
log_says 'changed already, and not as the recipe says'
same "$MNT/.grafts" grafts
unmount_and_wait
mv moved/other-name.gguf "$donor"

# A configuration with a URL is private, and not in the recipe.
mount_model -o noassemble,fresh "$base"
sed "s|\./clerk-Q4_K_M.gguf|file://$TMP/clerk-Q4_K_M.gguf|" merge.yml >url.yml
cp url.yml "$MNT/.merge"
grep -q '^# there is no recipe: .*a URL' "$MNT/.recipe" || fail "$(cat "$MNT/.recipe")"
rm "$MNT/.merge"
unmount_and_wait

# The merge has more blocks than the base, with grafts on them and a removal.
mount_model -o noassemble,fresh "$base"
cat >"$MNT/.merge" <<-'END'
	merge_method: passthrough
	slices:
	- sources: [{model: scribe-Q4_K_M, layer_range: [0, 5]}]
	- sources: [{model: clerk-Q4_K_M, layer_range: [2, 6]}]
END
exists "$MNT/organs/blk_8_ffn_up.bin"
cp "$MNT/.base/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_8_ffn_up.bin"
rm "$MNT/organs/blk_7_ffn_up.bin"
record
replayed

# The written model embeds the recipe without paths, which gives the model again.
mount_model -o "lineage,fresh,output=$TMP/out.gguf" "$base"
cp merge.yml "$MNT/.merge"
rm "$MNT/organs/blk_3_ffn_up.bin"
unmount_and_wait
"$ORGANFS" --recipe out.gguf >carried.yml
grep -q '^  config: |' carried.yml || fail "$(cat carried.yml)"
! grep "$TMP" carried.yml || fail 'a path is told'
mount_model -o "lineage,noassemble,fresh,recipe=carried.yml" "$base"
same "$MNT/model.gguf" out.gguf
unmount_and_wait
mount_model -o "lineage,fresh,output=$TMP/path.gguf" "$base"
sed "s|: \./|: $TMP/|" merge.yml >"$TMP/paths.yml"
cp paths.yml "$MNT/.merge"
unmount_and_wait
expect_fail 'carries no recipe' "$ORGANFS" --recipe path.gguf
grep -q 'lineage: .*by its whole path' "$LOGS/mnt" || fail "$(tail -n 3 "$LOGS/mnt")"
