#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several models in one mount: names, skipped files, files of the root, copies from one model to
# another, and their state when the donor model is missing.
. "${0%/*}/../lib.sh"

need rsync strace
mkdir -p "$TMP/m/sub/deeper" "$TMP/m/.hidden"
cp "$MODELS/stories260K.gguf" "$TMP/m/a.gguf"
cp "$MODELS/stories260K-donor.gguf" "$TMP/m/sub/b.gguf"
cp "$MODELS/stories260K-q8_0.gguf" "$TMP/m/sub/a.gguf"
cp "$MODELS/stories260K.gguf" "$TMP/m/manifest.json.gguf"
cp "$MODELS/stories260K.gguf" "$TMP/m/sub/deeper/no.gguf"
cp "$MODELS/stories260K.gguf" "$TMP/m/.hidden/no.gguf"
echo junk >"$TMP/m/junk.gguf"
echo note >"$TMP/m/README"
touch -d '2024-05-05 05:05:05' "$TMP"/m/*.gguf "$TMP"/m/sub/*.gguf

mount_model -o noassemble "$TMP/m"
equal "$(ls -A "$MNT" | tr '\n' ' ')" \
	".log .report.json .theta a a-2 b manifest.json manifest.json-2 "
same "$MNT/a/model.gguf" "$TMP/m/a.gguf"
same "$MNT/a-2/model.gguf" "$TMP/m/sub/a.gguf"
same "$MNT/b/model.gguf" "$TMP/m/sub/b.gguf"
equal "$(grep -c 'passed over' "$MNT/.log")" 1 "lines of $(cat "$MNT/.log")"
grep -q 'm/junk.gguf: passed over: ' "$MNT/.log" || fail "$(cat "$MNT/.log")"
equal "$(stat -c %h "$MNT")" 6
python3 -m json.tool "$MNT/manifest.json" >"$TMP/json"
equal "$(grep -c '"directory"' "$TMP/json")" 4

# Listing measures nothing.
find "$MNT" -ls >"$TMP/found"
ls -laR "$MNT" >"$TMP/found"
du -a "$MNT" >"$TMP/found"
getfattr -R -m - "$MNT" >"$TMP/found" 2>&1
equal "$(getfattr --only-values -n user.organfs.measured "$MNT")" 0
equal "$(stat -c %s "$MNT/.theta")" "$(wc -c <"$MNT/.theta")"
equal "$(cat "$MNT/.theta" | wc -c)" "$(stat -c %s "$MNT/.theta")"
measured=$(getfattr --only-values -n user.organfs.measured "$MNT")
[ "$measured" -gt 100 ] || fail "measured $measured"
"$GGUF" check-manifest "$TMP/m/a.gguf" "$MNT/a"
"$GGUF" check-mount "$TMP/m/sub/b.gguf" "$MNT/b"
# The ranking's figures equal each model's report.
for model in a a-2 b; do
	read -r _ _ elements tensors signal parameters count name \
		< <(grep "^model .*  $model\$" "$MNT/.theta")
	equal "$name" "$model"
	equal "$(awk '/^mean elements/ { print $3 }' "$MNT/$model/.theta")" "$elements"
	equal "$(awk '/^mean tensors/ { print $3, $4 }' "$MNT/$model/.theta")" "$tensors $signal"
	equal "$(awk '/^model parameters/ { print $3 }' "$MNT/$model/.theta")" "$parameters"
	equal "$(awk '/^model tensors/ { print $3 }' "$MNT/$model/.theta")" "$count"
done
grep -q '^law signal .* 4$' "$MNT/.theta" || fail "$(cat "$MNT/.theta")"
mkdir "$TMP/out"
tar -C "$MNT" -cf "$TMP/out.tar" . 2>"$TMP/said" || fail "$(cat "$TMP/said")"
[ ! -s "$TMP/said" ] || fail "$(cat "$TMP/said")"
rm "$TMP/out.tar"

# Nothing else can be made in the root.
for command in "touch $MNT/x" "mkdir $MNT/x" "ln -s x $MNT/x" "rm -f $MNT/.theta" "rmdir $MNT/b" \
	"mv $MNT/a $MNT/c"; do
	expect_fail 'not permitted|denied' $command
done

# Any tool's copy becomes a reference, without a byte written.
from=$MNT/b/organs to=$MNT/a/organs
strace -f -o "$TMP/trace" cp "$from/blk_0_ffn_up.bin" "$to/"
! grep -E '(^|[^a-z])(write|pwrite64|sendfile)\(' "$TMP/trace" || fail "cp writes"
cp -a "$from/blk_1_ffn_up.bin" "$to/"
ln -f "$from/blk_2_ffn_up.bin" "$to/blk_2_ffn_up.bin"
cp "$from/blk_3_ffn_up.bin" "$to/blk_9_ffn_up.bin"
mv "$to/blk_9_ffn_up.bin" "$to/blk_3_ffn_up.bin"
equal "$(cut -f 2 "$MNT/a/.grafts" | sort | uniq -c | tr -s ' ')" " 4 reference"
equal "$(cat "$MNT/b/.grafts")" ""
mv "$from/blk_4_ffn_up.bin" "$to/"
grep -q '^organs/blk_4_ffn_up.bin	reference	' "$MNT/a/.grafts" ||
	fail "$(cat "$MNT/a/.grafts")"
grep -q '^organs/blk_4_ffn_up.bin	removed	' "$MNT/b/.grafts" ||
	fail "$(cat "$MNT/b/.grafts")"
cp "$MNT/b/.base/organs/blk_4_ffn_up.bin" "$from/"
equal "$(cat "$MNT/b/.grafts")" ""
"$GGUF" splice "$TMP/m/a.gguf" "$TMP/m/sub/b.gguf" 'blk.[0-4].ffn_up.weight' "$TMP/expected"
same "$MNT/a/model.gguf" "$TMP/expected"
cmp "$MNT/a/organs/blk_1_ffn_up.bin" "$from/blk_1_ffn_up.bin"
equal "$(stat -c %Y "$to/blk_1_ffn_up.bin")" "$(stat -c %Y "$from/blk_1_ffn_up.bin")"
equal "$(rsync -ai "$from/blk_1_ffn_up.bin" "$to/")" ""
# A copy of a copy is shared.
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.0.ffn_gate.weight "$TMP/gate"
cat "$TMP/gate" >"$from/blk_1_ffn_gate.bin"
cp "$from/blk_1_ffn_gate.bin" "$to/"
cmp -i 50 "$to/blk_1_ffn_gate.bin" "$TMP/gate"
# A refusal is in the model's log, and in the root's under the model's name.
expect_fail 'Invalid argument' cp "$from/blk_1_ffn_down.bin" "$to/blk_1_ffn_up.bin"
refused='organs/blk_1_ffn_up.bin: graft refused'
tail -1 "$MNT/a/.log" | grep -q " $refused" || fail "$(cat "$MNT/a/.log")"
tail -1 "$MNT/.log" | grep -q " a/$refused" || fail "$(cat "$MNT/.log")"
cp "$MNT/a/.base/organs/blk_1_ffn_gate.bin" "$to/"

# The next mount has them, even without the other model.
kill_daemon
mount_model -o noassemble "$TMP/m"
same "$MNT/a/model.gguf" "$TMP/expected"
unmount_and_wait
mount_model -o noassemble "$TMP/m/a.gguf"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

# The other model is missing, then another one, then back.
is_broken() {
	mount_model "$TMP/m/a.gguf"
	equal "$(cut -f 2 "$MNT/.grafts" | sort | uniq -c | tr -s ' ')" " 5 broken reference"
	log_says "organs/blk_.*broken: a reference to $TMP/m/sub/b.gguf: $1"
	expect_fail 'Input/output error' cat "$MNT/organs/blk_0_ffn_up.bin"
	expect_fail 'Input/output error' eval 'echo >"$MNT/.assemble"'
	assembly_says "organs/blk_0_ffn_up.bin: a reference to "
	cat "$MNT/organs/blk_0_ffn_down.bin" "$MNT/.base/organs/blk_0_ffn_up.bin" >"$TMP/x"
	fusermount3 -u "$MNT"
	status=0
	wait "${DAEMON[$MNT]}" || status=$?
	equal $status 1 "the daemon's exit status"
	unset "DAEMON[$MNT]"
	absent "$TMP/m/a.grafted.gguf"
}
mv "$TMP/m/sub/b.gguf" "$TMP/b.gguf"
is_broken "No such file"
cp "$TMP/m/a.gguf" "$TMP/m/sub/b.gguf"
is_broken "the file has another model now"
echo junk >"$TMP/m/sub/b.gguf"
is_broken ".*GGUF"
mv "$TMP/b.gguf" "$TMP/m/sub/b.gguf"

# Each is assembled into the directory of output=.
mkdir "$TMP/written"
mount_model -o "output=$TMP/written" "$TMP/m"
same "$MNT/a/model.gguf" "$TMP/expected"
rm "$MNT/b/norm/blk_0_attn_norm.bin"
cp "$MNT/b/model.gguf" "$TMP/expected.b"
unmount_and_wait
equal "$(ls "$TMP/written" | tr '\n' ' ')" "a.grafted.gguf b.grafted.gguf "
same "$TMP/written/a.grafted.gguf" "$TMP/expected"
same "$TMP/written/b.grafted.gguf" "$TMP/expected.b"
no_litter "$XDG_STATE_HOME"

# A directory with one model is mounted as a directory; a directory without models, or a file that
# is none, is refused.
mkdir "$TMP/one" "$TMP/none"
cp "$TMP/m/a.gguf" "$TMP/one"
mount_model -o ro "$TMP/one"
same "$MNT/a/model.gguf" "$TMP/m/a.gguf"
unmount_and_wait
expect_refusal "$TMP/none"
"$ORGANFS" "$TMP/m/a.gguf" "$TMP/m/junk.gguf" "$MNT" >"$TMP/said" 2>&1 && fail "junk is mounted"
grep -q "^organfs: $TMP/m/junk.gguf: " "$TMP/said" || fail "$(cat "$TMP/said")"
"$ORGANFS" -o "output=$TMP/m/a.gguf" "$TMP/one" "$MNT" >"$TMP/said" 2>&1 && fail "mounted"
grep -q "^organfs: $TMP/m/a.gguf: .*directory" "$TMP/said" || fail "$(cat "$TMP/said")"
