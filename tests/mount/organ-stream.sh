#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# organ-stream: measures what it is told to, one after the other, from URLs and paths; goes on after
# whatever interrupted it; leaves a table that makes the report of the mount.
. "${0%/*}/lib.sh"

need curl flock
stream=$here/../../mount-helpers/organ-stream
"$here/../tools/serve.py" "$MODELS" "$TMP/port" "$TMP/requests" 2>"$TMP/server" &
server=$!
trap 'kill $server' EXIT
until_true 20 test -s "$TMP/port" || fail "no server: $(cat "$TMP/server")"
url=http://127.0.0.1:$(cat "$TMP/port")
all='clerk-Q4_K_M scribe-Q4_K_M stories260K stories260K-donor stories260K-q8_0 types types-stress'

nothing_left() {
	absent "$1.work"
	! grep "$TMP" /proc/self/mountinfo || fail 'something is mounted'
}
# What the mounts say of themselves.
truth() {
	local paths=() name
	for name; do
		paths+=("$MODELS/$name.gguf")
	done
	"$ORGANFS" -o ro "${paths[@]}" "$MNT" || fail "no mount"
	cat "$MNT/.theta"
	fusermount3 -u "$MNT"
}
# done_of TABLE: how many shards are in it.
done_of() {
	grep -c '^# done	' "$1" 2>/dev/null || true
}

# Paths and URLs, with an own name for one; one that is not there and one that is no model do not
# stop the others, and are told at the end.
head -c 100000 "$MODELS/types.gguf" >"$TMP/cut.gguf"
{
	echo '# a list'
	echo "$MODELS/types.gguf"
	echo
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
# The half that had come was not asked for again.
awk '$1 == "GET" && $2 ~ "cut" && $3 > 0' "$TMP/requests" | grep -q . || fail 'nothing continued'
# What is there is passed over, and the others are tried again.
: >"$TMP/requests"
cp "$MODELS/types.gguf" "$TMP/cut.gguf"
"$stream" "$TMP/list" "$TMP/t.tsv" >"$TMP/out" 2>"$TMP/err" && fail 'a shard is missing'
equal "$(done_of "$TMP/t.tsv")" 4
equal "$(cut -d ' ' -f 2 "$TMP/requests")" ''

# Killed at any moment, again and again, it comes to its end, with the report of the mount.
for name in $all; do
	echo "$url/slow/$name.gguf"
done >"$TMP/list"
table=$TMP/killed.tsv
kills=0
for seconds in 0.4 0.9 1.5 2.1 0.8 1.3 2 half; do
	"$stream" "$TMP/list" "$table" >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	if [ $seconds = half ]; then
		until_true 60 eval '[ -s "$(echo "$table".work/*/*.part)" ]' || fail 'nothing comes'
	else
		sleep $seconds
	fi
	is_gone $pid || kills=$((kills + 1))
	kill -9 $pid 2>/dev/null || true
	wait $pid 2>/dev/null || true
done
[ $kills -gt 3 ] || fail "killed only $kills times"
# As a power cut leaves a table that is being written.
printf 'table\t1\thalf\t57\t57\t0\ntensor\thalf\tx' >>"$table"
"$stream" "$TMP/list" "$table" >"$TMP/out" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
grep -q 'cut off 34 bytes' "$TMP/err" || fail "$(cat "$TMP/err")"
equal "$(done_of "$table")" 7
equal "$(grep -c '^table' "$table")" 7
nothing_left "$table"
truth $all >"$TMP/truth"
"$ORGANFS" --report "$table" >"$TMP/report"
same "$TMP/report" "$TMP/truth"
awk '$1 == "GET" && $2 ~ "slow" && $3 > 0' "$TMP/requests" | grep -q . || fail 'nothing continued'
: >"$TMP/requests"
"$stream" "$TMP/list" "$table" >"$TMP/out" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
equal "$(cat "$TMP/requests")" ''

# Killed while it has something mounted: the next one is in nobody's way.
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
mountpoint -q "$TMP/k.tsv.work/mnt" || fail 'it was not mounted'
"$stream" "$TMP/list" "$TMP/k.tsv" >"$TMP/out" || fail 'it does not go on'
equal "$(done_of "$TMP/k.tsv")" 1
nothing_left "$TMP/k.tsv"

# Interrupted politely, it cleans up, keeps what came, and does not continue another file with it.
echo "$url/slow/clerk-Q4_K_M.gguf" >"$TMP/list"
"$stream" "$TMP/list" "$TMP/int.tsv" >"$TMP/out" 2>"$TMP/err" &
pid=$!
until_true 20 eval '[ -s "$TMP"/int.tsv.work/*/*.part ]' || fail 'nothing comes'
sleep 0.3
kill -TERM $pid
status=0
wait $pid || status=$?
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

# Options reach organfs; what is another file than a table, or has no room, is left alone.
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
# Two at once do not mix.
exec 8>>"$TMP/few.tsv"
flock 8
expect_fail 'another organ-stream' "$stream" "$TMP/list" "$TMP/few.tsv"
exec 8>&-

if [ "$(id -u)" = 0 ] && mkdir "$TMP/small" && mount -t tmpfs -o size=1m none "$TMP/small"; then
	echo "$url/fine/scribe-Q4_K_M.gguf" >"$TMP/list"
	expect_fail 'MB are needed in .*small' "$stream" -d "$TMP/small/w" "$TMP/list" "$TMP/n.tsv"
	umount "$TMP/small"
fi
