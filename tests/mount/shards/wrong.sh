#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shards with wrong names, of another model, or with the same number: usable ones are used, others
# are skipped with the reason.
. "${0%/*}/../lib.sh"

one=$(use stories260K)
mkdir "$TMP/m"
m=$TMP/m
name() {
	echo "$m/x-0000$1-of-00003.gguf"
}
afresh() {
	rm -f "$m"/*
	"$GGUF" split "$one" "$m/x" 3
}
log_says() {
	grep -Eq "$1" "$MNT/.log" || fail "no \"$1\" in: $(cat "$MNT/.log")"
}
lacks() {
	expect_fail 'No data available' cat "$MNT/model.gguf"
	tail -n 1 "$MNT/.log" | grep -Eq "lacks $1" || fail "$(tail -n 1 "$MNT/.log")"
	unmount_and_wait
}

# Names are in the wrong order: the key split.no decides.
afresh
mv "$(name 1)" "$m/tmp"
mv "$(name 3)" "$(name 1)"
mv "$m/tmp" "$(name 3)"
mount_model -o ro "$(name 2)"
same "$MNT/model.gguf" "$one"
log_says 'x-00001-of-00003.gguf: taken for shard 3'
unmount_and_wait

# The file name is no shard's: its tensors exist, the other shards cannot be found.
afresh
mv "$(name 2)" "$m/other.gguf"
mount_model -o ro "$m/other.gguf"
log_says 'other.gguf: .*not that of a shard'
equal "$(ls "$MNT"/*/*.bin | wc -l)" "$("$GGUF" organs "$m/other.gguf" | wc -l)"
lacks '2 of its 3 shards'
mount_model -o ro "$(name 1)"
lacks 'x-00002-of-00003.gguf'

# Two files have one number: the one whose name agrees is the shard.
afresh
cp "$(name 2)" "$(name 3)"
mount_model -o ro "$(name 3)"
log_says 'x-00003-of-00003.gguf: passed over: .*shard 2, as another'
lacks 'x-00003-of-00003.gguf \(it says'

# Shards of other models: another count of shards or tensors, no shard, no GGUF.
afresh
"$GGUF" split "$one" "$m/y" 4
cp "$m/y-00002-of-00004.gguf" "$(name 2)"
mount_model -o ro "$(name 1)"
log_says 'passed over: .*with 4 shards'
lacks 'x-00002-of-00003.gguf'
"$GGUF" split "$MODELS/scribe-Q4_K_M.gguf" "$m/z" 3
cp "$m/z-00002-of-00003.gguf" "$(name 2)"
mount_model -o ro "$(name 1)"
log_says 'passed over: .*57 tensors, not 48'
lacks 'x-00002-of-00003.gguf'
cp "$one" "$(name 2)"
mount_model -o ro "$(name 1)"
log_says 'passed over: .*not a shard'
lacks 'x-00002-of-00003.gguf'
echo junk >"$(name 2)"
mount_model -o ro "$(name 1)"
log_says 'passed over: .*not a GGUF file'
lacks 'x-00002-of-00003.gguf'
rm "$(name 2)"
mkdir "$(name 2)"
mount_model -o ro "$(name 1)"
log_says 'passed over: .*not a regular file'
lacks 'x-00002-of-00003.gguf'
rmdir "$(name 2)"
mkfifo "$(name 2)"
mount_model -o ro "$(name 1)"
lacks 'x-00002-of-00003.gguf'

# Two shards have the same tensor; there are too few in all.
afresh
"$GGUF" shard "$one" "$(name 2)" 1 3 48 token_embd.weight
mount_model -o ro "$(name 1)"
log_says 'passed over: .*"token_embd.weight" is in shard 1'
lacks 'x-00002-of-00003.gguf'
afresh
"$GGUF" shard "$one" "$(name 2)" 1 3 48 blk.2.ffn_up.weight
mount_model -o ro "$(name 1)"
expect_fail 'No data available' cat "$MNT/model.gguf"
tail -n 1 "$MNT/.log" | grep -q '48 tensors .* 33' ||
	fail "$(tail -n 1 "$MNT/.log")"
unmount_and_wait
# The named shard must be valid.
"$GGUF" shard "$one" "$(name 2)" 7 3 48 blk.2.ffn_up.weight
expect_fail 'shard 8 of 3' "$ORGANFS" "$(name 2)" "$MNT"
mount_model -o ro "$(name 1)"
log_says 'passed over: .*shard 8 of 3'
unmount_and_wait
