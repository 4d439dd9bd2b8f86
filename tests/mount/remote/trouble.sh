#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server that is gone, hangs or has another file: EIO, no wrong byte, and the mount goes on.
# timeout: 300
. "${0%/*}/../lib.sh"

with_clock
mkdir -p "$TMP/www"
"$GGUF" synth "$TMP/www/big.gguf" --size 200M --tensors 30 --vocab 1000 --fill
cp "$TMP/www/big.gguf" "$TMP/copy.gguf"
serve_ranges
port=${URL##*:}
mount_model -o ro "$URL/good/big.gguf"
mkdir "$TMP/file"
mount_model -o ro "$TMP/copy.gguf" "$TMP/file"
part() {
	dd if="$1/model.gguf" bs=1M skip="$2" count=4 iflag=direct status=none
}

# The server is killed: reads of unread parts fail with EIO, names and metadata still work, and
# reads continue when the server is back.
part "$MNT" 0 | cmp - <(part "$TMP/file" 0)
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null || true
! part "$MNT" 40 >"$TMP/part" 2>"$TMP/.said" || fail 'a read without a server succeeds'
grep -q 'Input/output error' "$TMP/.said" || fail "$(cat "$TMP/.said")"
[ ! -s "$TMP/part" ] || fail 'there are bytes'
log_says "big.gguf: cannot be read: .*connect"
ls -l "$MNT/organs" >/dev/null
cat "$MNT/metadata/llama.block_count" >/dev/null
serve_ranges "$port"
part "$MNT" 40 | cmp - <(part "$TMP/file" 40)
unmount_and_wait

# The server hangs: reads of another model work, and neither an interrupted reader nor the unmount
# waits for the server's time limit, which is reported.
mkdir "$TMP/both"
cp "$TMP/copy.gguf" "$TMP/both/other.gguf"
"$ORGANFS" -f -o ro,threads=3 "$URL/hang/big.gguf" "$TMP/both/other.gguf" "$MNT" \
	>"$LOGS/both" 2>&1 </dev/null &
DAEMON[$MNT]=$!
until_true 60 is_up "$MNT" || late "$MNT is not mounted after 60 s"
: >"$TMP/www/hang"
readers=()
for i in {1..12}; do
	dd if="$MNT/big/model.gguf" of=/dev/null bs=1M skip=$((i * 10)) count=1 status=none \
		2>/dev/null &
	readers+=($!)
done
until_true 60 wait_inside "${readers[@]}" || late 'a reader does not wait'
cmp "$MNT/other/model.gguf" "$TMP/copy.gguf"
ls -lR "$MNT" >/dev/null
# θ of the other model works too, although readers of the hung one could occupy all threads.
for i in {0..39}; do
	cat "$MNT/big/organs/blk_$((i % 3))_ffn_up.theta" >/dev/null 2>&1 &
	readers+=($!)
	cat "$MNT/.report.json" >/dev/null 2>&1 &
	readers+=($!)
done
until_true 60 wait_inside "${readers[@]}" || late 'a reader does not wait'
in_time 10 cat "$MNT/other/organs/blk_1_ffn_up.theta" >"$TMP/theta" ||
	fail 'θ of another model waits for the server'
! grep 'cannot be read' "$LOGS/both" || late 'the server has been silent for too long'
kill -INT "${readers[@]}" 2>/dev/null || true
kill "${readers[@]}"
are_gone() {
	local reader
	for reader in "${readers[@]}"; do
		is_gone "$reader" || return 1
	done
}
until_true 60 are_gone || fail 'a reader goes on'
begin=$(milliseconds)
cat "$MNT/big/.theta" >/dev/null 2>&1 &
readers=($!)
until_true 60 wait_inside $! || late 'a reader does not wait'
kill $!
until_true 60 are_gone || fail 'a reader goes on'
unmount_and_wait
[ $(($(milliseconds) - begin)) -lt 20000 ] || late 'the server has been silent for too long'
! grep 'cannot be read' "$LOGS/both" || fail 'the server was waited for'
rm "$TMP/www/hang"

# A slow server works.
mount_model -o ro "$URL/slow/big.gguf"
part "$TMP/file" 100 | head -c 65536 >"$TMP/expected"
dd if="$MNT/model.gguf" bs=64K skip=1600 count=1 iflag=direct status=none | cmp - "$TMP/expected"
unmount_and_wait

# The server has another file of the same size: bytes read before stay, other reads fail with EIO,
# even if its answers do not identify the file.
mkdir "$TMP/nameless"
mount_model -o ro "$URL/nameless/big.gguf" "$TMP/nameless"
mount_model -o ro "$URL/good/big.gguf"
part "$TMP/nameless" 100 | cmp - <(part "$TMP/file" 100)
part "$MNT" 60 >"$TMP/before"
head -c 1000000 "$TMP/copy.gguf" >"$TMP/www/new"
truncate -r "$TMP/copy.gguf" "$TMP/www/new"
mv "$TMP/www/new" "$TMP/www/big.gguf"
part "$MNT" 60 | cmp - "$TMP/before"
! part "$MNT" 90 >"$TMP/part" 2>/dev/null || fail 'a changed file is read'
[ ! -s "$TMP/part" ] || fail 'there are bytes of another file'
! part "$TMP/nameless" 90 >"$TMP/part" 2>/dev/null || fail 'a changed file is read'
[ ! -s "$TMP/part" ] || fail 'there are bytes of another file'
unmount_and_wait "$TMP/nameless"
log_says 'big.gguf: cannot be read: the file was changed since it was opened'
! cat "$MNT/organs/blk_1_ffn_up.theta" >"$TMP/.said" 2>&1 || fail "θ: $(cat "$TMP/.said")"
cp "$TMP/copy.gguf" "$TMP/www/shorter"
truncate -s 1M "$TMP/www/shorter"
mv "$TMP/www/shorter" "$TMP/www/big.gguf"
! part "$MNT" 90 >/dev/null 2>&1 || fail 'a file that has shrunk is read'
unmount_and_wait
unmount_and_wait "$TMP/file"
end_server
