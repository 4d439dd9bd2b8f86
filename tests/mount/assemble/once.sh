#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The unmount does not repeat an assembly whose file still exists, unless the model has changed
# since.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
mkdir "$TMP/out" "$TMP/other"
for block in 0 1; do
	"$GGUF" organ "$donor" blk.$block.ffn_up.weight "$TMP/blk_${block}_ffn_up.bin"
done

# graft [-o OPTIONS]: mount with one graft.
graft() {
	mount_model "$@" "$base"
	cp "$TMP/blk_0_ffn_up.bin" "$MNT/organs/"
}

# The unmount names the model, and writes nothing beside the base.
writes_nothing() {
	unmount_and_wait
	tail -n 3 "$LOGS/mnt" | grep -q "already assembled: $1" || fail "$(tail -n 3 "$LOGS/mnt")"
	absent "$TMP/stories260K.grafted.gguf"
	no_litter "$XDG_STATE_HOME"
}

# The unmount writes the model again.
writes() {
	cp "$MNT/model.gguf" "$TMP/expected"
	unmount_and_wait
	same "$1" "$TMP/expected"
	no_litter "$XDG_STATE_HOME"
	rm "$1"
}
default=$TMP/stories260K.grafted.gguf

graft
(cd "$TMP/out" && echo chimera.gguf >"$MNT/.assemble")
cp "$MNT/model.gguf" "$TMP/expected"
writes_nothing "$TMP/out/chimera.gguf"
same "$TMP/out/chimera.gguf" "$TMP/expected"

# A second graft of the same organ is a change.
graft
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
cp "$TMP/blk_1_ffn_up.bin" "$MNT/organs/"
writes "$default"
graft
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
echo other >"$MNT/metadata/general.name"
writes "$default"

# A failed assembly does not count, nor does a removed, replaced or changed file.
graft
! echo "$TMP/missing/a.gguf" 2>/dev/null >"$MNT/.assemble" || fail 'assembled to nowhere'
writes "$default"
for spoil in 'rm $file' 'mv $file $file.moved' 'cp -p $file $file.2; mv $file.2 $file' \
	'cp -p $file $file.2; printf x | dd of=$file conv=notrunc status=none
	 touch -r $file.2 $file'; do
	graft
	file=$TMP/out/a.gguf
	echo "!$file" >"$MNT/.assemble"
	eval "$spoil"
	writes "$default"
done

# output= names a file: the unmount writes that file.
graft -o "output=$TMP/wanted.gguf"
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
writes "$TMP/wanted.gguf"
graft -o "output=$TMP/wanted.gguf"
(cd "$TMP/out" && echo ../wanted.gguf >"$MNT/.assemble")
inode=$(stat -c %i "$TMP/wanted.gguf")
writes_nothing "$TMP/wanted.gguf"
equal "$(stat -c %i "$TMP/wanted.gguf")" "$inode"

# Shards count as long as all of them exist.
graft
echo "$TMP/out/s-%05d-of-%05d.gguf split=500K" >"$MNT/.assemble"
writes_nothing "$TMP/out/s-00001-of-.* and .* more shard"
rm "$TMP/out"/s-*
graft
echo "$TMP/out/s-%05d-of-%05d.gguf split=500K" >"$MNT/.assemble"
rm "$TMP/out"/s-00002-*
writes "$default"

# noassemble: the unmount writes nothing, and the layer stays.
graft -o noassemble
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
unmount_and_wait
absent "$default"
mount_model "$base"
equal "$(wc -l <"$MNT/.grafts")" 1
# A mount does not know another mount's assembly.
writes "$default"
graft -o "layer=$TMP/layer"
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
unmount_and_wait
absent "$default"
exists "$TMP/layer/layer.db"

# Each of several models counts on its own.
mkdir "$TMP/m"
cp "$base" "$TMP/m/a.gguf"
cp "$base" "$TMP/m/b.gguf"
for options in noatime "output=$TMP/other"; do
	mount_model -o "$options" "$TMP/m"
	for model in a b; do
		cp "$TMP/blk_0_ffn_up.bin" "$MNT/$model/organs/"
	done
	cp "$MNT/b/model.gguf" "$TMP/expected"
	echo "$TMP/out/a.gguf" >"$MNT/a/.assemble"
	echo "$TMP/other/b.gguf" >"$MNT/b/.assemble"
	[ "$options" != noatime ] || cp "$TMP/blk_1_ffn_up.bin" "$MNT/b/organs/"
	[ "$options" != noatime ] || cp "$MNT/b/model.gguf" "$TMP/expected"
	unmount_and_wait
	if [ "$options" = noatime ]; then
		absent "$TMP/m/a.grafted.gguf"
		same "$TMP/m/b.grafted.gguf" "$TMP/expected"
		rm "$TMP/m/b.grafted.gguf"
	else
		same "$TMP/other/a.grafted.gguf" "$TMP/expected"
		absent "$TMP/other/b.grafted.gguf"
	fi
	no_litter "$XDG_STATE_HOME"
done
