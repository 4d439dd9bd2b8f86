#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 600
# One read of the disk fails while a layer is taken up: the mount is refused with the reason, or
# shows the confirmed content, and EIO for organs that it cannot read now. The next mount has all
# grafts. FAULTS=all tries every call, else a sample; FAULTS=17 tries that one.
. "${0%/*}/../lib.sh"

faulty=${ORGANFS%/*}/tests/tools/organfs-faults
[ -x "$faulty" ] || skip "$faulty is not built"
base=$(use stories260K)
donor=$(use stories260K-donor)
mount_model -o ro "$donor" "$TMP/donor"
options=noassemble,layer=$TMP/layer
"$LORA" make "$base" "$TMP/halves.gguf" 'blk.1.attn_q.weight'
mount_model -o ro "$TMP/halves.gguf" "$TMP/halves"

# The layer has everything that a layer can hold.
mount_model -o "$options" "$base"
cp "$TMP/donor/organs/"blk_[01]_ffn_up.bin "$MNT/organs/"
rm "$MNT/organs/blk_2_ffn_up.bin"
mv "$MNT/organs/blk_3_ffn_up.bin" "$MNT/organs/blk_4_ffn_up.bin"
ln -sf "$TMP/donor/organs/blk_3_ffn_down.bin" "$MNT/organs/blk_3_ffn_down.bin"
cp "$TMP/donor/organs/blk_0_ffn_gate.bin" "$MNT/organs/blk_9_ffn_gate.bin"
ln -s "$TMP/halves/adapters/"*blk_1*.bin "$MNT/adapters/"
echo other >"$MNT/metadata/general.name"
echo 7 >"$MNT/metadata/general.new_key"
rm "$MNT/metadata/tokenizer.ggml.scores"
"$LORA" make "$base" "$TMP/one.gguf" 'blk.[01].attn_q.weight'
ln -s "$TMP/one.gguf" "$MNT/adapters/one.gguf"
echo 0.5 >"$MNT/adapters/one.scale"
sync
shown() {
	sha256sum <"$MNT/model.gguf" && cut -f 1-6 "$MNT/.grafts" &&
		ls "$MNT/metadata" "$MNT/adapters" "$MNT"/*/*.bin
}
unmount_and_wait
mount_model -o "$options" "$base"
shown >"$TMP/shown"
cut -f 1-6 "$MNT/.grafts" >"$TMP/grafts"
unmount_and_wait
cp -a "$TMP/layer" "$TMP/saved"

# try K: false if there are fewer than K calls.
try() {
	local call
	rm -rf "$TMP/layer" "$TMP/fault"
	cp -a "$TMP/saved" "$TMP/layer"
	if ORGANFS_FAULT=reads:$1:EIO ORGANFS_FAULT_LOG=$TMP/fault "$faulty" \
		-o "$options,pidfile=$TMP/pid" "$base" "$MNT" 2>"$TMP/said"; then
		# Files opened during the mount are not read again.
		if ! grep -q 'broken' "$MNT/.grafts"; then
			equal "$(cut -f 1-6 "$MNT/.grafts")" "$(cut -f 1-6 "$TMP/grafts")" \
				"call $1, $(cat "$TMP/fault"): other grafts; $(cat "$MNT/.log")"
		fi
		if cat "$MNT/model.gguf" >"$TMP/model.gguf" 2>/dev/null; then
			equal "$(sha256sum <"$TMP/model.gguf")" "$(head -n 1 "$TMP/shown")" \
				"call $1, $(cat "$TMP/fault"): another model; $(cat "$MNT/.log")"
		fi
		DAEMON[$MNT]=$(cat "$TMP/pid")
		umount "$MNT"
		wait_daemon
	else
		grep -q '^organfs: .' "$TMP/said" || fail "call $1: refused without a word"
	fi
	call=$(cat "$TMP/fault" 2>/dev/null) || true
	mount_model -o "$options" "$base"
	shown | diff "$TMP/shown" - || fail "call $1, ${call:-none}: the next mount shows this"
	unmount_and_wait
	[ -n "$call" ]
}

case ${FAULTS-} in
'' | all) ;;
*)
	try "$FAULTS" || fail 'there are fewer calls'
	exit 0
	;;
esac
step=$(every 17)
k=$((1 + RANDOM % step))
while try $k; do
	k=$((k + step))
done
echo "up to call $k"
unmount_and_wait "$TMP/donor"
unmount_and_wait "$TMP/halves"
