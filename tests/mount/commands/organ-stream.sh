#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every way to interrupt a script
# plain: tests programs of others
# timeout: 300
# organ-stream measures models from URLs and paths, one after another, resumes after any
# interruption, and leaves a table whose report equals the mount's.
. "${0%/*}/../lib.sh"

need curl flock
stream=$here/../../mount-helpers/organ-stream
"$here/../tools/serve.py" "$MODELS" "$TMP/port" "$TMP/requests" "$TMP/blocks" 2>"$TMP/server" &
server=$!
trap 'kill $server' EXIT
until_true 60 test -s "$TMP/port" || late "no server: $(cat "$TMP/server")"
url=http://127.0.0.1:$(cat "$TMP/port")
all='clerk-Q4_K_M scribe-Q4_K_M stories260K stories260K-donor stories260K-q8_0 types types-stress'

nothing_left() {
	absent "$1.work"
	! grep "$TMP" /proc/self/mountinfo || fail 'something is mounted'
}
# Print the reports of the mounts themselves.
truth() {
	local paths=() name
	for name; do
		paths+=("$MODELS/$name.gguf")
	done
	"$ORGANFS" -o ro "${paths[@]}" "$MNT" || fail "no mount"
	cat "$MNT/.theta"
	fusermount3 -u "$MNT"
}
# done_of TABLE: number of its shards.
done_of() {
	grep -c '^# done	' "$1" 2>/dev/null || true
}

# The list has paths and URLs, one with its own name; a model named twice counts once; a missing
# file and a file that is no model do not stop the others, and are reported at the end.
head -c 100000 "$MODELS/types.gguf" >"$TMP/cut.gguf"
{
	echo '# a list'
	echo "$MODELS/types.gguf"
	echo
	echo "$MODELS/types.gguf"
	echo "$url/fine/none.gguf"
	printf '%s\tmy types\n' "$url/cut/types-stress.gguf?download=true"
	echo "$TMP/cut.gguf"
	printf '%s' "$url/plain/stories260K.gguf"
} >"$TMP/list"
status=0
"$stream" "$TMP/list" "$TMP/t.tsv" >"$TMP/out" 2>"$TMP/err" || status=$?
equal $status 1 "$(cat "$TMP/err")"
equal "$(done_of "$TMP/t.tsv")" 3
equal "$(wc -l <"$TMP/err")" 2 "$(cat "$TMP/err")"
grep -q "^organ-stream: failed: $url/fine/none.gguf: .*404" "$TMP/err" || fail "$(cat "$TMP/err")"
grep -q "^organ-stream: failed: $TMP/cut.gguf: at byte" "$TMP/err" || fail "$(cat "$TMP/err")"
! grep -q "$(printf '\r')" "$TMP/out" || fail 'a progress line in a file'
grep -q '^3 of 5 shards are in ' "$TMP/out" || fail "$(cat "$TMP/out")"
nothing_left "$TMP/t.tsv"
"$ORGANFS" --report "$TMP/t.tsv" >"$TMP/report"
equal "$(awk '$1 == "model" { print $NF }' "$TMP/report" | sort | tr '\n' ' ')" \
	'stories260K types types '
grep -q ' my types$' "$TMP/report" || fail "$(cat "$TMP/report")"
# The received half was not requested again.
awk '$1 == "GET" && $2 ~ "cut" && $3 > 0' "$TMP/requests" | grep -q . || fail 'nothing continued'
# Models in the table are skipped; failed ones are retried.
: >"$TMP/requests"
cp "$MODELS/types.gguf" "$TMP/cut.gguf"
"$stream" "$TMP/list" "$TMP/t.tsv" >"$TMP/out" 2>"$TMP/err" && fail 'a shard is missing'
equal "$(done_of "$TMP/t.tsv")" 4
equal "$(cut -d ' ' -f 2 "$TMP/requests")" ''

# requests WORD: number of requests that begin so.
requests() {
	grep -c "^$1 " "$TMP/requests" || true
}
# unlocked TABLE: no child of an ended process holds the lock, for which the next would wait 5 s.
unlocked() {
	flock -w 60 "$1" true || late "$1 is locked"
}
# ended BLOCKS SIGNAL TABLE: end it when that many blocks of a file are sent and some have arrived.
# Sets status.
ended() {
	local table=$3 pid before
	echo "$1" >"$TMP/blocks"
	before=$(requests GONE)
	"$stream" "$TMP/list" "$table" >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	until_true 60 eval '[ "$(requests WAIT)" -gt "$before" ]' ||
		late "block $1 is not sent"
	until_true 60 eval '[ -s "$(echo "$table".work/*/*.part)" ]' || late 'nothing comes'
	kill "-$2" $pid
	status=0
	wait $pid || status=$?
	until_true 60 eval '[ "$(requests GONE)" -gt "$before" ]' ||
		fail 'it goes on to fetch'
	unlocked "$table"
	rm "$TMP/blocks"
}

# Killed repeatedly, in six of the files, it finishes with the mount's report.
for name in $all; do
	echo "$url/held/$name.gguf"
done >"$TMP/list"
table=$TMP/killed.tsv
for blocks in 1 30 2 20 18 7 11 5 5; do
	ended $blocks KILL "$table"
done
[ "$(grep ^GONE "$TMP/requests" | sort -u | wc -l)" = 6 ] || fail "$(cat "$TMP/requests")"
# A power cut leaves a half-written table.
printf 'table\t1\thalf\t57\t57\t0\ntensor\thalf\tx' >>"$table"
"$stream" "$TMP/list" "$table" >"$TMP/out" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
grep -q 'cut off 34 bytes' "$TMP/err" || fail "$(cat "$TMP/err")"
equal "$(done_of "$table")" 7
equal "$(grep -c '^table' "$table")" 7
nothing_left "$table"
truth $all >"$TMP/truth"
"$ORGANFS" --report "$table" >"$TMP/report"
same "$TMP/report" "$TMP/truth"
awk '$1 == "GET" && $2 ~ "held" && $3 > 0' "$TMP/requests" | grep -q . || fail 'nothing continued'
: >"$TMP/requests"
"$stream" "$TMP/list" "$table" >"$TMP/out" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
equal "$(cat "$TMP/requests")" ''

# If it is killed with a mount, the next one is not in its way.
cat >"$TMP/killer" <<END
#!/bin/sh
"$ORGANFS" "\$@" || exit
kill -9 \$PPID
END
chmod +x "$TMP/killer"
echo "$MODELS/types.gguf" >"$TMP/list"
status=0
ORGANFS=$TMP/killer "$stream" "$TMP/list" "$TMP/k.tsv" >"$TMP/out" 2>&1 || status=$?
equal $status 137
unlocked "$TMP/k.tsv"
mountpoint -q "$TMP/k.tsv.work/mnt" || fail 'it was not mounted'
"$stream" "$TMP/list" "$TMP/k.tsv" >"$TMP/out" || fail 'it does not go on'
equal "$(done_of "$TMP/k.tsv")" 1
nothing_left "$TMP/k.tsv"

# SIGTERM: it cleans up, and keeps the partial download for the same file only.
echo "$url/held/clerk-Q4_K_M.gguf" >"$TMP/list"
ended 3 TERM "$TMP/int.tsv"
equal $status 143
exists "$TMP"/int.tsv.work/*/clerk-Q4_K_M.gguf.part
equal "$(done_of "$TMP/int.tsv")" 0
for part in "$TMP"/int.tsv.work/*/clerk-Q4_K_M.gguf.part; do
	head -c "$(stat -c %s "$part")" /dev/zero >"$part.zero"
	mv "$part.zero" "$part"
	echo '12345 "older"' >"$part.stamp"
done
"$stream" "$TMP/list" "$TMP/int.tsv" >"$TMP/out" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
nothing_left "$TMP/int.tsv"
mount_model -o ro "$MODELS/clerk-Q4_K_M.gguf"
"$ORGANFS" --report "$TMP/int.tsv" >"$TMP/report"
same "$TMP/report" "$MNT/.theta"
unmount_and_wait

# If the server gives no version of the file, the download is not resumed.
for manner in bare signed; do
	source=$url/$manner/types.gguf
	own=$TMP/s.tsv.work/$(printf '%s' "$source" | cksum | tr ' ' -)
	mkdir -p "$own"
	head -c 50000 /dev/zero >"$own/types.gguf.part"
	echo "$(stat -c %s "$MODELS/types.gguf")  " >"$own/types.gguf.part.stamp"
	echo "$source" | "$stream" - "$TMP/s.tsv" >"$TMP/out" 2>&1 || fail "$(cat "$TMP/out")"
	nothing_left "$TMP/s.tsv"
done

# A torn table in the middle is found, and everything behind it is made again.
echo "$MODELS/types.gguf" | "$stream" - "$TMP/a.tsv" >"$TMP/out"
echo "$MODELS/stories260K.gguf" | "$stream" - "$TMP/b.tsv" >"$TMP/out"
printf '%s\n' "$MODELS/types.gguf" "$MODELS/stories260K.gguf" >"$TMP/list"
"$ORGANFS" --report "$TMP/a.tsv" "$TMP/b.tsv" >"$TMP/whole"
size=$(stat -c %s "$TMP/a.tsv")
begin=$(LC_ALL=C grep -abo '^table' "$TMP/a.tsv" | cut -d : -f 1)
for at in $((begin + 3)) $((begin + 9)) $((size / 2)) \
	$(($(LC_ALL=C grep -abo '^end' "$TMP/a.tsv" | cut -d : -f 1) + 6)); do
	{
		echo '# organfs, mine'
		head -c "$at" "$TMP/a.tsv"
		cat "$TMP/b.tsv"
	} >"$TMP/torn.tsv"
	"$stream" "$TMP/list" "$TMP/torn.tsv" >"$TMP/out" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
	grep -q 'cut off .* not whole' "$TMP/err" || fail "at $at: $(cat "$TMP/err")"
	equal "$(done_of "$TMP/torn.tsv")" 2
	"$ORGANFS" --report "$TMP/torn.tsv" >"$TMP/report"
	same "$TMP/report" "$TMP/whole"
done
equal "$(head -n 1 "$TMP/torn.tsv")" '# organfs, mine'

# Names that tools could misread.
cd "$TMP"
for name in samples=all.tsv -t.tsv; do
	for _ in 1 2; do
		"$stream" -- list "$name" >out 2>&1 </dev/null || fail "$(cat out)"
		! grep 'cut off' out || fail 'it takes a whole table for a torn one'
		cp -- "./$name" odd.tsv
		equal "$(done_of odd.tsv)" 2 "$name"
	done
	"$ORGANFS" --report odd.tsv >report
	same report whole
	absent "./$name.work"
done

# Foreign files in DIR stay.
mkdir -p dir/mnt dir/empty
echo kept | tee dir/table dir/said >dir/headers
mount_model -o ro "$MODELS/types.gguf" "$TMP/dir/mnt"
cd dir
"$stream" -d . "$TMP/list" t.tsv >"$TMP/out" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
mountpoint -q mnt || fail 'it unmounts what it has not mounted'
equal "$(cat table said headers | tr '\n' ' ')" 'kept kept kept '
equal "$(ls | tr '\n' ' ')" 'empty headers mnt said t.tsv table '
# Another process's work directory stays.
mkdir organ-stream.t.tsv.work
exec 8<organ-stream.t.tsv.work
flock 8
expect_fail 'another organ-stream' "$stream" -d . "$TMP/list" "$TMP/t.tsv"
"$stream" -d . "$TMP/list" "$TMP/other.tsv" >"$TMP/out" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
exec 8<&-
cd "$TMP"
unmount_and_wait "$TMP/dir/mnt"

# Options reach organfs; a file that is no table, or has no room, stays as it is.
echo "$MODELS/scribe-Q4_K_M.gguf" | "$stream" -o samples=2000 - "$TMP/few.tsv" >"$TMP/out"
equal "$(awk -F '\t' '$1 == "tensor" && $17 + 0 > 2048' "$TMP/few.tsv")" ''
expect_fail 'is no table' "$stream" "$TMP/list" "$MODELS/types.gguf"
expect_fail 'is no table' "$stream" "$TMP/few.tsv" "$TMP/list"
for usage in '' 'one' '-x a b' '-o' 'a b c'; do
	status=0
	# shellcheck disable=SC2086
	"$stream" $usage >"$TMP/out" 2>&1 || status=$?
	equal $status 2 "$usage: $(cat "$TMP/out")"
done
"$stream" --help | grep -q '^Usage: organ-stream' || fail 'no help'
# Two concurrent runs do not mix.
exec 8>>"$TMP/few.tsv"
flock 8
expect_fail 'another organ-stream' "$stream" "$TMP/list" "$TMP/few.tsv"
exec 8>&-

if [ "$(id -u)" = 0 ] && mkdir "$TMP/small" && mount -t tmpfs -o size=1m none "$TMP/small"; then
	echo "$url/fine/scribe-Q4_K_M.gguf" >"$TMP/list"
	expect_fail 'MB are needed in .*small' "$stream" -d "$TMP/small/w" "$TMP/list" "$TMP/n.tsv"
	# A full disk leaves no partial table, but keeps the download.
	mount -o remount,size=12k "$TMP/small"
	echo '# organfs, mine' >"$TMP/small/t.tsv"
	: >"$TMP/requests"
	expect_fail 't.tsv cannot be written: No space' \
		"$stream" -d "$TMP/fetched" "$TMP/list" "$TMP/small/t.tsv"
	equal "$(cat "$TMP/small/t.tsv")" '# organfs, mine'
	equal "$(grep -c ^GET "$TMP/requests")" 1
	mount -o remount,size=1m "$TMP/small"
	"$stream" -d "$TMP/fetched" "$TMP/list" "$TMP/small/t.tsv" >"$TMP/out" 2>"$TMP/err" ||
		fail "$(cat "$TMP/err")"
	equal "$(grep -c ^GET "$TMP/requests")" 1 'it is fetched again'
	equal "$(done_of "$TMP/small/t.tsv")" 1
	absent "$TMP/fetched/organ-stream.t.tsv.work"
	# A full disk where the table is built does the same.
	mount -t tmpfs -o size=2156k none "$TMP/fetched"
	expect_fail 'no room for its table' "$stream" -d "$TMP/fetched" "$TMP/list" "$TMP/w.tsv"
	mount -o remount,size=9m "$TMP/fetched"
	: >"$TMP/requests"
	"$stream" -d "$TMP/fetched" "$TMP/list" "$TMP/w.tsv" >"$TMP/out" 2>"$TMP/err" ||
		fail "$(cat "$TMP/err")"
	equal "$(grep -c ^GET "$TMP/requests")" 0 'it is fetched again'
	umount "$TMP/small" "$TMP/fetched"
fi
