#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -o confine: the daemon writes only to the layer and the output directory.
. "${0%/*}/../lib.sh"

! grep -q __tsan_init "$ORGANFS" || skip 'a sanitizer has a thread of its own'
mkdir "$TMP/models"
mv "$(use stories260K)" "$TMP/models"
base=$TMP/models/stories260K.gguf
donor=$MODELS/stories260K-donor.gguf
mkdir "$TMP/elsewhere" "$TMP/out"
"$ORGANFS" -o confine "$base" "$MNT" 2>"$TMP/said" || {
	grep -q 'needs Landlock' "$TMP/said" && skip 'this kernel has no Landlock'
	fail "$(cat "$TMP/said")"
}
unmount_and_wait

"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" organ "$donor" blk.2.ffn_up.weight "$TMP/linked.bin"

# Grafts by copy and by link, keys and removals, next to the base, with a private layer.
mount_model -o confine "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
ln -sf "$TMP/linked.bin" "$MNT/organs/blk_2_ffn_up.bin"
echo renamed >"$MNT/metadata/general.name"
rm "$MNT/organs/blk_0_ffn_gate.bin"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/linked.bin"
expect_fail 'Permission denied' bash -c "echo $TMP/elsewhere/x.gguf >'$MNT/.assemble'"
log_says "elsewhere/x.gguf: .*Permission denied.*confine.*writes"
no_litter "$TMP/elsewhere"
# The daemon does not inspect a process that is less confined.
expect_fail 'Invalid argument' bash -c "cd $TMP/models; echo relative.gguf >'$MNT/.assemble'"
log_says 'begins with /'
echo "$TMP/models/whole.gguf" >"$MNT/.assemble"
assembly_says '^assembled: '
cp "$MNT/model.gguf" "$TMP/expected"
same "$TMP/models/whole.gguf" "$TMP/expected"
# A shell's commands write one line through one open file, which is not obeyed in halves.
rm "$MNT/metadata/llama.context_length"
{ /usr/bin/printf metadata; /usr/bin/printf '/general.name\n'; } >"$MNT/.undo"
equal "$(cat "$MNT/metadata/general.name")" llama
absent "$MNT/metadata/llama.context_length"
echo again >"$MNT/metadata/general.name"
cp "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/models/stories260K.grafted.gguf" "$TMP/expected"

# The user chooses the layer and the output directory.
mount_model -o "confine,layer=$TMP/layer,output=$TMP/out/m.gguf" "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
expect_fail 'Permission denied' bash -c "echo $TMP/models/beside.gguf >'$MNT/.assemble'"
unmount_and_wait
[ -s "$TMP/out/m.gguf" ] || fail 'output= is not written'
absent "$TMP/models/beside.gguf"
# The next mount has the layer's grafts.
mount_model -o "confine,layer=$TMP/layer" "$base"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
unmount_and_wait

# A read-only mount writes nothing, and needs no layer. In the background the daemon keeps no
# descriptor open that a shell waits for.
mount_daemon -o ro,confine "$base" "$MNT"
for fd in 0 1 2; do
	equal "$(readlink "/proc/${DAEMON[$MNT]}/fd/$fd")" /dev/null "descriptor $fd"
done
same "$MNT/model.gguf" "$base"
unmount_and_wait

# A mount point made by the mount ends with it.
mount_model -o confine,ro "$base" "$TMP/made"
kill -TERM "${DAEMON[$TMP/made]}"
wait_daemon "$TMP/made"
absent "$TMP/made"
