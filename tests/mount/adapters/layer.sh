#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Adapters in the layer: after kill -9 the next mount has the confirmed ones; another layer has
# none; an adapter whose file is missing is broken until the file is back.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
a=$TMP/a.gguf
layer=$TMP/layer
"$LORA" make "$base" "$a" 'blk.[01].attn_q.weight' --seed a
"$LORA" make "$base" "$TMP/b.gguf" 'blk.1.attn_*.weight' --alpha 6 --rank 3 --seed b
"$LORA" merge "$base" "$TMP/one" "$a=-0.5" >"$TMP/changed"
"$LORA" merge "$base" "$TMP/both" "$a=-0.5" "$TMP/b.gguf=2" >"$TMP/changed"
pair=blk_1_attn_q_weight_lora

mount_model -o "layer=$layer" "$base"
cp "$MODELS/stories260K-donor.gguf" "$TMP/donor.gguf"
unmount_and_wait
mount_model -o "layer=$layer" "$base"
same "$MNT/model.gguf" "$base"
ln -s "$a" "$MNT/adapters/a.gguf"
echo -0.5 >"$MNT/adapters/a.scale"
same "$MNT/model.gguf" "$TMP/one"
kill_daemon
equal "$(layer_sql "$layer" 'SELECT file, target, text FROM adapter ORDER BY file')" \
	"a.gguf|$a|
a.scale||-0.5"

mkdir "$TMP/lora"
mount_model -o ro "$TMP/b.gguf" "$TMP/lora"
mount_model -o "layer=$layer" "$base"
# model.gguf is the first file to be read.
same "$MNT/model.gguf" "$TMP/one"
cp -r "$TMP/lora/adapters" "$MNT/"
{
	printf 0.10
	printf 5
} >"$MNT/adapters/lora.scale"
equal "$(cat "$MNT/adapters/lora.scale")" 0.105
exec 3>"$MNT/adapters/lora.scale"
echo -n 1e3 >&3
exec 3>&-
equal "$(cat "$MNT/adapters/lora.scale")" 1000
echo 2 >"$MNT/adapters/lora.scale"
same "$MNT/model.gguf" "$TMP/both"
cat "$MNT/.grafts" >"$TMP/grafts"
kill_daemon
unmount_and_wait "$TMP/lora"
copies=$(grep -c 'lora_[ab].bin	copy	' "$TMP/grafts")
equal "$(layer_sql "$layer" "SELECT count(*) FROM slot WHERE kind = 'copy'")" "$copies"

mount_model -o "layer=$layer" "$base"
same "$MNT/model.gguf" "$TMP/both"
# The order in which the adapters are found does not matter.
equal "$(cut -f1-6 "$MNT/.grafts" | sort)" "$(cut -f1-6 "$TMP/grafts" | sort)"
unmount_and_wait
# Adapters are in force with ro, and nothing can be changed.
mount_model -o "ro,layer=$layer" "$base"
same "$MNT/model.gguf" "$TMP/both"
expect_fail 'read-only' ln -s "$a" "$MNT/adapters/c.gguf"
expect_fail 'read-only' rm -f "$MNT/adapters/a.gguf"
expect_fail 'read-only|permission' bash -c "echo 1 >'$MNT/adapters/a.scale'"
unmount_and_wait

# The file is moved away, and back.
mv "$a" "$a.away"
mount_model -o "layer=$layer" "$base"
grep -q "^adapters/a.gguf	broken adapter	-0.5	0	" "$MNT/.grafts" ||
	fail "$(cat "$MNT/.grafts")"
expect_fail 'input/output' cat "$MNT/model.gguf"
expect_fail 'input/output' bash -c "echo '$TMP/x.gguf' >'$MNT/.assemble'"
assembly_says 'adapters/a.gguf: .*No such file'
absent "$TMP/x.gguf"
grep -q '^impossible	adapters	' "$MNT/.check" || fail "$(cat "$MNT/.check")"
mv "$a.away" "$a"
same "$MNT/model.gguf" "$TMP/both"
# A file that was written to since the merge is no longer read.
cp "$a" "$TMP/copy"
printf x >>"$a"
expect_fail 'input/output' cmp "$MNT/skeleton/blk_0_attn_q.bin" /dev/null
rm "$MNT/adapters/a.gguf"
rm "$MNT/adapters/$pair"_[ab].bin
rm "$MNT/adapters/"*.bin
absent "$MNT/adapters/lora.scale"
same "$MNT/model.gguf" "$base"
equal "$(cat "$MNT/.grafts")" ''
unmount_and_wait
equal "$(layer_sql "$layer" 'SELECT file FROM adapter; SELECT name FROM slot')" ''

# Rows that describe no adapter are ignored, and the mount then writes nothing.
layer_change "$layer" "INSERT INTO adapter (file, text, mtime)
	VALUES ('x.scale', 'many', 0), ('y.gguf', '1', 0)"
mount_model -o "layer=$layer,output=$TMP/out.gguf" "$base"
for name in x.scale y.gguf; do
	grep -q "adapters/$name is left alone: " "$MNT/.log" || fail "$(cat "$MNT/.log")"
done
absent "$MNT/adapters/x.scale"
kill_daemon
