#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The server of a merge's model does not answer at the next mount: the search for the model takes
# long, and no look-up of a name repeats that wait soon.
. "${0%/*}/../lib.sh"

cd "$TMP"
mkdir www
cp "$MODELS/stories260K.gguf" "$MODELS/stories260K-donor.gguf" www/
serve_ranges
printf 'merge_method: linear\nparameters: {weight: 1}\nmodels:\n' >m.yml
printf -- '- model: %s\n' stories260K "$URL/gone/stories260K-donor.gguf" >>m.yml
mount_model -o noassemble "$URL/good/stories260K.gguf"
cp m.yml "$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
unmount_and_wait

touch www/gone
mount_model -o noassemble "$URL/good/stories260K.gguf"
log_says '\.merge: .*cannot be read: .*stories260K-donor\.gguf'
n=$(grep -c /gone/ "$REQUESTS")
for organ in "$MNT"/organs/blk_[0-4]_*.bin; do
	expect_fail 'input/output error' cat "$organ"
done
equal "$(grep -c /gone/ "$REQUESTS")" "$n" 'requests to a server that is gone'
# A configuration is searched for at once.
rm www/gone
cp m.yml "$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
cat "$MNT/organs/blk_0_ffn_up.bin" >/dev/null
unmount_and_wait
end_server
