#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A base on a server that does not answer: its readers wait, and can be killed; no other process
# waits. Names, attributes, df, texts and local grafts still work. When the server is back, the
# reads finish.
# timeout: 180
. "${0%/*}/../lib.sh"

serve_file=${ORGANFS%/*}/tests/tools/serve-file
[ -x "$serve_file" ] || skip 'no serve-file'
base=$(use scribe-Q4_K_M)
graft=organs/blk_0_ffn_up.bin
mkdir "$TMP/server"
"$serve_file" "$base" "$TMP/server" >>"$LOGS/server" 2>&1 </dev/null &
server=$!
until_true 60 mountpoint -q "$TMP/server" || late 'no server'
mount_model -o "noassemble,threads=${THREADS:-4}" "$TMP/server/${base##*/}"
cp "$base" "$TMP/expected"
"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/1.bin"
cp "$TMP/1.bin" "$MNT/$graft"
ls -lR "$MNT" >"$TMP/list"
df "$MNT" >"$TMP/df"
threads() {
	ls "/proc/${DAEMON[$MNT]}/task" | wc -l
}

stop "$server"
readers=()
for i in 1 2 3 4 5; do
	cat "$MNT/organs/blk_${i}_ffn_down.bin" >/dev/null 2>&1 &
	readers+=($!)
	dd if="$MNT/organs/blk_${i}_ffn_gate.bin" of=/dev/null bs=64k iflag=direct 2>/dev/null &
	readers+=($!)
	cat "$MNT/organs/blk_${i}_ffn_gate.theta" >/dev/null 2>&1 &
	readers+=($!)
done
until_true 60 wait_inside "${readers[@]}" || late 'a reader does not wait'

# Check this while readers wait, and after they were killed.
others_go_on() {
	local i
	for i in 1 2 3; do
		in_time 60 ls -lR "$MNT" >"$TMP/list.now" || fail "names wait, $1"
		diff "$TMP/list" "$TMP/list.now" || fail "another list"
		in_time 60 df "$MNT" >"$TMP/df.now" || fail "df waits, $1"
		same "$TMP/df" "$TMP/df.now"
		in_time 60 cat "$MNT/.grafts" "$MNT/.log" "$MNT/metadata/general.file_type" \
			>/dev/null || fail "texts wait, $1"
		in_time 60 getfattr -n user.organfs.type "$MNT/organs/blk_3_ffn_down.bin" \
			>/dev/null 2>&1 || fail "attributes wait, $1"
		in_time 60 dd if="$MNT/$graft" of="$TMP/is" iflag=direct bs=1M status=none ||
			fail "a graft waits, $1"
		same "$TMP/is" "$TMP/1.bin"
	done
}
need getfattr
others_go_on 'with readers'
# Content that was not read before has to come from the base.
for i in 1 2 3 4 5; do
	ls -l "$MNT/.base/metadata" >/dev/null 2>&1 &
	readers+=($!)
done
until_true 60 wait_inside "${readers[@]}" || late 'a reader of metadata does not wait'
others_go_on 'with readers of metadata'
[ "$(threads)" -le 80 ] || fail "$(threads) threads"
kill "${readers[@]}"
are_gone() {
	local pid
	for pid in "${readers[@]}"; do
		is_gone "$pid" || return 1
	done
}
until_true 60 are_gone || fail "a reader cannot be killed: $(ps -o args= -p "${readers[*]}")"
others_go_on 'without readers'

# Each killed reader leaves a bounded number of requests.
for i in 1 2 3 4 5 6 7 8 9 10; do
	dd if="$MNT/organs/blk_4_ffn_up.bin" of=/dev/null bs=64k iflag=direct 2>/dev/null &
	until_true 60 wait_inside $! || late 'a reader does not wait'
	kill $!
	wait $! 2>/dev/null || true
done
[ "$(threads)" -le 80 ] || fail "$(threads) threads"

kill -CONT "$server"
"$GGUF" organ "$base" blk.2.ffn_down.weight "$TMP/2.bin"
in_time 60 cat "$MNT/organs/blk_2_ffn_down.bin" >"$TMP/is" || fail 'no read after all'
same "$TMP/is" "$TMP/2.bin"
in_time 60 cat "$MNT/organs/blk_2_ffn_gate.theta" >/dev/null || fail 'no measure after all'
! grep -q 'cannot be read' "$MNT/.log" || fail "$(cat "$MNT/.log")"
unmount_and_wait
fusermount3 -u "$TMP/server"
wait "$server"
