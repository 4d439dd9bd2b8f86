#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shards that are missing, appear and disappear.
. "${0%/*}/../lib.sh"

one=$(use stories260K)
mkdir "$TMP/all" "$TMP/m"
cp "$MODELS"/stories260K-split-*.gguf "$TMP/all"
name() {
	echo "stories260K-split-0000$1-of-00003.gguf"
}
tensors_in() {
	"$GGUF" organs "$TMP/all/$(name "$1")" | cut -f 1
}
# Tensors in the tree, by name.
tensors() {
	for organ in "$MNT"/*/*.bin; do
		getfattr --absolute-names --only-values -n user.organfs.tensor "$organ"
		echo
	done | sort
}

# Each strict subset is mounted, read-only and writable.
for set in 1 2 3 '1 2' '1 3' '2 3'; do
	rm -f "$TMP"/m/*
	there='' missing=''
	for k in 1 2 3; do
		case " $set " in
		*" $k "*)
			cp "$TMP/all/$(name $k)" "$TMP/m"
			there="$there $k"
			;;
		*) missing="$missing $k" ;;
		esac
	done
	for options in ro noassemble; do
		mount_model -o $options "$TMP/m/$(name "${set% *}")"
		for k in $there; do tensors_in "$k"; done | sort >"$TMP/expected"
		tensors >"$TMP/found"
		diff "$TMP/expected" "$TMP/found" || fail "the tree of shards $set"
		n=$(wc -l <"$TMP/expected")
		grep -q "^model shards  *$n/48 tensors, shard" "$MNT/.theta" ||
			fail "$(grep shards "$MNT/.theta")"
		grep -q "\"summary\":\"$n/48 tensors, shard" "$MNT/manifest.json" || fail "manifest"
		python3 -m json.tool "$MNT/manifest.json" >/dev/null
		python3 - "$MNT/.report.json" "$n" <<'END' || fail '.report.json'
import json, sys
report = json.load(open(sys.argv[1]))
assert len(report["tensors"]) == report["model"]["tensors"] == int(sys.argv[2])
assert report["model"]["tensors_total"] == 48
END
		expect_fail 'No data available' cat "$MNT/model.gguf"
		equal "$(stat -c %s "$MNT/model.gguf")" 0
		find "$MNT" -ls >/dev/null || fail 'find'
		# .log names only the missing shards.
		for k in $missing; do
			tail -n 1 "$MNT/.log" | grep -q "$(name $k)" ||
				fail "$(tail -n 1 "$MNT/.log")"
			grep -q "\"missing\":\[.*$(name $k)" "$MNT/manifest.json" || fail "$k"
		done
		for k in $there; do
			tail -n 1 "$MNT/.log" | grep -q "lacks.*$(name $k)" && fail "$k is there"
		done
		for organ in "$MNT"/organs/*.bin; do
			cmp "$organ" <("$GGUF" organ "$one" \
				"$(getfattr --absolute-names --only-values \
					-n user.organfs.tensor "$organ")" /dev/stdout) ||
				fail "$organ"
			break
		done
		# Nothing can be grafted yet.
		expect_fail 'Read-only' cp "$organ" "$organ.new"
		expect_fail 'Read-only' rm "$organ"
		if [ $options = noassemble ]; then
			expect_fail 'No data available' eval "echo $TMP/out.gguf >$MNT/.assemble"
			grep -q "$(name ${missing##* })" "$MNT/.assemble" ||
				fail "$(cat "$MNT/.assemble")"
			absent "$TMP/out.gguf"
		fi
		unmount_and_wait
		absent "$TMP/m/stories260K-split.grafted.gguf"
	done
done

# One after another arrives during the mount.
rm -f "$TMP"/m/*
cp "$TMP/all/$(name 2)" "$TMP/m"
mount_model -o noassemble "$TMP/m/$(name 2)"
shown=$(ls -A "$MNT/organs" | wc -l)
theta=$(cat "$MNT/organs/blk_2_ffn_up.theta")
exec 5<"$MNT/organs/blk_2_ffn_up.bin"
cp "$TMP/all/$(name 1)" "$TMP/m"
ls "$MNT" >/dev/null
more=$(ls -A "$MNT/organs" | wc -l)
[ "$more" -gt "$shown" ] || fail "shard 1 has come: $shown files, then $more"
exists "$MNT/metadata/general.architecture"
equal "$(cat "$MNT/organs/blk_2_ffn_up.theta")" "$theta"
# Half a download is skipped until it is whole; a signal triggers a look as well.
head -c 300000 "$TMP/all/$(name 3)" >"$TMP/m/$(name 3)"
kill -HUP "${DAEMON[$MNT]}"
until_true 60 is_idle || late 'the signal is not done with'
equal "$(ls -A "$MNT/organs" | wc -l)" "$more"
expect_fail 'No data available' cat "$MNT/model.gguf"
tail -n 1 "$MNT/.log" | grep -q "$(name 3) (.*outside the file" || fail "$(tail -n 1 "$MNT/.log")"
cp "$TMP/all/$(name 3)" "$TMP/m/$(name 3)"
kill -HUP "${DAEMON[$MNT]}"
is_whole() {
	[ -s "$MNT/model.gguf" ]
}
until_true 60 is_whole || fail 'SIGHUP finds nothing'
same "$MNT/model.gguf" "$one"
# Open files stay valid.
cmp /dev/fd/5 "$MNT/organs/blk_2_ffn_up.bin" || fail 'the open organ is another one now'
exec 5<&-
# A model with all shards is like any other.
cp "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
equal "$(wc -l <"$MNT/.grafts")" 1
want=$(checksum "$MNT/model.gguf")
unmount_and_wait
# A layer is left alone until all shards exist.
mv "$TMP/m/$(name 2)" "$TMP"
mount_model -o noassemble "$TMP/m/$(name 1)"
equal "$(wc -l <"$MNT/.grafts")" 0
mv "$TMP/$(name 2)" "$TMP/m"
ls "$MNT" >/dev/null
equal "$(wc -l <"$MNT/.grafts")" 1
equal "$(checksum "$MNT/model.gguf")" "$want"
# Once all have arrived the mount keeps them, like a single file.
rm "$TMP/m/$(name 3)"
ls "$MNT" >/dev/null
equal "$(checksum "$MNT/model.gguf")" "$want"
unmount_and_wait

# A shard disappears before that: its θ stays known, its disk space is free, its bytes are
# unreadable.
rm -f "$TMP"/m/*
cp "$TMP/all/$(name 2)" "$TMP/all/$(name 3)" "$TMP/m"
mount_model -o ro "$TMP/m/$(name 2)"
theta=$(cat "$MNT/organs/blk_2_ffn_up.theta")
head -c 100 "$MNT/organs/blk_2_ffn_up.bin" >/dev/null
rm "$TMP/m/$(name 2)"
ls "$MNT" >/dev/null
equal "$(cat "$MNT/organs/blk_2_ffn_up.theta")" "$theta"
grep -q '^model shards .*, shard 3 of 3$' "$MNT/.theta" || fail "$(grep shards "$MNT/.theta")"
expect_fail 'Input/output error' dd if="$MNT/organs/blk_2_ffn_up.bin" iflag=direct bs=64k
! ls -l "/proc/${DAEMON[$MNT]}/fd" | grep -q "$(name 2)" || fail 'shard 2 is still open'
# A measurement that did not finish in time is unknown, and the tables say so.
grep -q "undecoded" "$MNT/norm/.theta" || fail "$(cat "$MNT/norm/.theta")"
# The shard comes back.
cp "$TMP/all/$(name 2)" "$TMP/all/$(name 1)" "$TMP/m"
ls "$MNT" >/dev/null
same "$MNT/model.gguf" "$one"
! grep -q undecoded "$MNT/norm/.theta" || fail 'not measured again'
unmount_and_wait

# The files of a whole model may be moved during the mount, like a single file: θ still works.
mkdir "$TMP/elsewhere"
mount_model -o ro "$TMP/m/$(name 2)"
mv "$TMP"/m/* "$TMP/elsewhere"
"$GGUF" check-mount --grafted "$one" "$MNT"
! grep -q undecoded "$MNT/organs/.theta" || fail 'θ of moved shards'
[ "$(grep -c . "$MNT/organs/.theta")" -gt 10 ] || fail 'θ of moved shards'
df "$MNT" >/dev/null || fail df
unmount_and_wait

# df works after the first shard is gone; a shard in transfer does not count as whole.
cp "$TMP/all/$(name 1)" "$TMP/all/$(name 2)" "$TMP/m"
mount_model -o ro "$TMP/m/$(name 2)"
rm "$TMP/m/$(name 1)"
cp "$TMP/all/$(name 3)" "$TMP/m"
touch "$TMP/m/$(name 3).aria2"
ls "$MNT" >/dev/null
df "$MNT" >/dev/null || fail 'df without the first shard'
expect_fail 'No data available' cat "$MNT/model.gguf"
tail -n 1 "$MNT/.log" | grep -q "$(name 3) (it is being fetched)" || fail "$(tail -n 1 "$MNT/.log")"
rm "$TMP/m/$(name 3).aria2"
cp "$TMP/all/$(name 1)" "$TMP/m"
ls "$MNT" >/dev/null
same "$MNT/model.gguf" "$one"
unmount_and_wait

# A layer of another model is reported once, and the mount stays as it was.
mkdir "$TMP/d"
cp "$MODELS/stories260K-donor.gguf" "$TMP/d/donor.gguf"
mount_model -o "layer=$TMP/layer" "$TMP/d/donor.gguf"
unmount_and_wait
rm "$TMP/m/$(name 1)"
mount_model -o "layer=$TMP/layer" "$TMP/m/$(name 2)"
cp "$TMP/all/$(name 1)" "$TMP/m"
for _ in 1 2 3; do ls "$MNT" >/dev/null; done
equal "$(grep -c 'new shards cannot be used.*another base' "$MNT/.log")" 1
expect_fail 'No data available' cat "$MNT/model.gguf"
exists "$MNT/organs/blk_2_ffn_up.bin"
unmount_and_wait
# Another mount uses the layer: once that has ended, a signal suffices.
mkdir "$TMP/other"
mount_model -o "layer=$TMP/own" "$one" "$TMP/other"
rm "$TMP/m/$(name 1)"
mount_model -o "layer=$TMP/own" "$TMP/m/$(name 2)"
cp "$TMP/all/$(name 1)" "$TMP/m"
for _ in 1 2 3; do ls "$MNT" >/dev/null; done
equal "$(grep -c 'new shards cannot be used.*another mount uses this layer' "$MNT/.log")" 1
unmount_and_wait "$TMP/other"
expect_fail 'No data available' cat "$MNT/model.gguf"
kill -HUP "${DAEMON[$MNT]}"
until_true 60 is_whole || fail 'SIGHUP does not try again'
same "$MNT/model.gguf" "$one"
unmount_and_wait

# In a directory one bad file of a set does not affect the others; a graft from a model that lacks
# shards is a copy, which does not need them later.
rm "$TMP"/m/*
cp "$TMP/all/$(name 2)" "$TMP/all/$(name 3)" "$TMP/m"
head -c 1000 "$TMP/all/$(name 1)" >"$TMP/m/$(name 1)"
"$GGUF" split "$TMP/d/donor.gguf" "$TMP/m/stories260K-split" 5
cp "$one" "$TMP/m/z.gguf"
mount_model -o noassemble "$TMP/m"
equal "$(ls -d "$MNT"/*/ | wc -l)" 3 "$(ls "$MNT")"
part=$MNT/stories260K-split
[ -s "$part/model.gguf" ] && part=$MNT/stories260K-split-2
expect_fail 'No data available' cat "$part/model.gguf"
cp "$part/organs/blk_3_ffn_up.bin" "$MNT/z/organs/blk_0_ffn_up.bin"
grep -q 'blk_0_ffn_up.bin	copy' "$MNT/z/.grafts" || fail "$(cat "$MNT/z/.grafts")"
want=$(checksum "$MNT/z/model.gguf")
unmount_and_wait
rm "$TMP"/m/*split*
mount_model -o noassemble "$TMP/m/z.gguf"
equal "$(checksum "$MNT/model.gguf")" "$want"
unmount_and_wait
