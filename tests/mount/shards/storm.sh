#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Repeated reads of everything while shards come and go: an organ gives its bytes or an error, and
# in the end the model is whole.
. "${0%/*}/../lib.sh"

mkdir "$TMP/all" "$TMP/m" "$TMP/whole"
cp "$MODELS"/stories260K-split-*.gguf "$TMP/all"
mount_model -o ro "$MODELS/stories260K.gguf"
cp "$MNT"/organs/*.bin "$TMP/whole"
unmount_and_wait
name() {
	echo "stories260K-split-0000$1-of-00003.gguf"
}
cp "$TMP/all/$(name 2)" "$TMP/m"
mount_model -o ro "$TMP/m/$(name 2)"

readers=()
: >"$TMP/rounds"
reading() {
	while [ ! -e "$TMP/stop" ]; do
		"$@" >/dev/null 2>&1 || true
	done
}
read_again() {
	reading "$@" &
	readers+=($!)
}
# List organs with other bytes, including truncated ones.
compare() {
	local organ status
	for organ in "$TMP"/whole/*.bin; do
		status=0
		cmp -s "$MNT/organs/${organ##*/}" "$organ" || status=$?
		[ $status != 1 ] || echo "${organ##*/}" >>"$TMP/other"
	done
	echo >>"$TMP/rounds"
}
read_again ls -lR "$MNT"
read_again sh -c "cat $MNT/*/.theta"
read_again sh -c "cat $MNT/.theta $MNT/manifest.json $MNT/checksums.xxh128"
read_again compare
read_again getfattr -R -d -m - "$MNT"
read_again df "$MNT"

is_compared_again() {
	[ "$(wc -l <"$TMP/rounds")" -gt "$before" ]
}

# Always keep one shard, and never all three, because the model would then stay whole.
RANDOM=7
for i in $(seq 1 "$(rounds 25 6)"); do
	file=$(name $((RANDOM % 3 + 1)))
	there=$(ls "$TMP/m" | wc -l)
	if [ -e "$TMP/m/$file" ]; then
		[ "$there" = 1 ] || rm "$TMP/m/$file"
	elif [ "$there" -lt 2 ]; then
		cp "$TMP/all/$file" "$TMP/m"
	fi
	[ $((i % 3)) != 0 ] || kill -HUP "${DAEMON[$MNT]}"
	ls "$MNT" >/dev/null || fail "ls in round $i"
	before=$(wc -l <"$TMP/rounds")
	until_true 60 is_compared_again || late 'nothing is compared'
done
touch "$TMP/stop"
wait "${readers[@]}"
absent "$TMP/other"
cp "$TMP/all"/* "$TMP/m"
ls "$MNT" >/dev/null
same "$MNT/model.gguf" "$MODELS/stories260K.gguf"
cat "$MNT"/*/.theta >"$TMP/table"
! grep -q undecoded "$TMP/table" || fail "$(grep undecoded "$TMP/table")"
unmount_and_wait
