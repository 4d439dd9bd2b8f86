#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A write to a θ file has no effect, so that whole directories can be copied in.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use stories260K-donor)
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"
before=$(cat "$MNT/norm/.theta")

cp -r "$TMP/donor/organs" "$MNT/"
cp -a "$TMP/donor/skeleton" "$MNT/"
[ "$(wc -l <"$MNT/.grafts")" -gt 10 ] || fail "$(cat "$MNT/.grafts")"
for class in organs skeleton; do
	diff -r "$TMP/donor/$class" "$MNT/$class" || fail "$class differs from the donor's"
done
equal "$(cat "$MNT/norm/.theta")" "$before" 'norm'

theta=$MNT/organs/blk_0_ffn_up.theta
value=$(cat "$theta")
echo 'something much longer than a number in degrees' >"$theta"
echo more >>"$theta"
truncate -s 100 "$theta"
equal "$(stat -c %s "$theta")" 6 size
equal "$(cat "$theta")" "$value"
head -c 100000 /dev/urandom >"$MNT/organs/.theta"
equal "$(cat "$MNT/organs/.theta" | wc -c)" "$(stat -c %s "$MNT/organs/.theta")" 'table'
: >"$MNT/.theta"
equal "$(cat "$MNT/.theta" | wc -c)" "$(stat -c %s "$MNT/.theta")" 'report'
size=$(stat -c %s "$MNT/theta.svg")
: >"$MNT/theta.svg"
equal "$(cat "$MNT/theta.svg" | wc -c)" "$size" 'picture'
# A removed file is not listed until it is written again.
count=$(ls -A "$MNT/organs" | wc -l)
rm "$theta" "$MNT/organs/.theta"
ls -lA "$MNT/organs" >/dev/null
equal "$(ls -A "$MNT/organs" | wc -l)" $((count - 2)) 'names'
absent "$theta"
echo again >"$theta"
: >"$MNT/organs/.theta"
equal "$(cat "$theta")" "$value"
equal "$(ls -A "$MNT/organs" | wc -l)" "$count" 'names'
# A file that gets a θ file's name in any way is dropped, unless it is an organ, and no name is
# listed twice.
ORGANS=$MNT/organs
up=$ORGANS/blk_1_ffn_up.bin
names=$(ls -A "$ORGANS" | wc -l)
expect_fail 'Operation not permitted' mv "$up" "$theta"
exists "$up"
rm "$theta"
expect_fail 'Operation not permitted' mv "$up" "$theta"
exists "$up"
rm "$theta"
ln -s nowhere "$theta"
echo text >"$ORGANS/text~"
rm "$theta"
ln "$ORGANS/text~" "$theta"
rm "$theta"
ln "$up" "$theta"
rm "$theta"
mv "$ORGANS/text~" "$theta"
equal "$(cat "$theta")" "$value"
equal "$(ls -A "$ORGANS" | wc -l)" "$names" 'names'
cp -rs --remove-destination "$TMP/donor/organs" "$MNT"
equal "$(ls -A "$ORGANS" | wc -l)" "$names" 'names'
rm -r "$ORGANS"
equal "$(ls -A "$ORGANS")" .theta 'names'
expect_fail 'read-only' eval ': >"$TMP/donor/organs/blk_0_ffn_up.theta"'
unmount_and_wait "$TMP/donor"
unmount_and_wait
