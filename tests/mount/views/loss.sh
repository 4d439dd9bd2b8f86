#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .views/types/TYPE/loss.tsv: the errors equal those of the decoded bytes in .views/types, a
# listing computes none, and a reader that leaves ends the work.
. "${0%/*}/../lib.sh"

# Relative error of an organ file against another one in another type.
cat >"$TMP/loss.py" <<'END'
import math
import struct
import sys

def values(path):
    with open(path, "rb") as f:
        f.seek(struct.unpack("<I", f.read(4))[0], 1)
        dims = struct.unpack("<I", f.read(4))[0]
        ne = struct.unpack(f"<{dims}Q", f.read(8 * dims))
        kind = struct.unpack("<I", f.read(4))[0]
        data = f.read()
    n = math.prod(ne)
    if kind in (0, 1):
        return struct.unpack(f"<{n}{'fe'[kind]}", data)
    size = {2: 18, 8: 34}[kind]
    out = []
    for at in range(0, len(data), size):
        d = struct.unpack_from("<e", data, at)[0]
        q = data[at + 2:at + size]
        if kind == 8:
            out += [d * x for x in struct.unpack("32b", q)]
        else:
            out += [d * ((x & 15) - 8) for x in q] + [d * ((x >> 4) - 8) for x in q]
    return out

x, y = values(sys.argv[1]), values(sys.argv[2])
error = math.fsum((a - b) ** 2 for a, b in zip(x, y))
print("%.9g" % math.sqrt(error / math.fsum(a * a for a in x)))
END

# A field in an organ's line, by number.
field() {
	awk -F '\t' -v file="$2" -v n="$3" '$1 == file { print $n + 0 }' "$types/$1/loss.tsv"
}

check_table() {
	types=$MNT/.views/types
	equal "$(head -n 1 "$types/$1/loss.tsv")" $'file\ttype\tbytes\tnew_bytes\trelative'
	equal "$(tail -n +2 "$types/$1/loss.tsv" | cut -f 1 | sort)" \
		"$(cd "$types/$1" && ls -- */*.bin | sort)"
	tail -n +2 "$types/$1/loss.tsv" | some 5 >"$TMP/lines"
	while IFS=$'\t' read -r file type bytes new relative; do
		equal "$(getfattr --only-values -n user.organfs.type "$MNT/$file")" "$type"
		equal $(($(stat -c %s "$MNT/$file") - bytes)) \
			$(($(stat -c %s "$types/$1/$file") - new))
		python3 "$TMP/loss.py" "$MNT/$file" "$types/$1/$file" >"$TMP/expected"
		awk -v a="$relative" 'function near(a, b) { return (a - b) ^ 2 <= (1e-5 * b) ^ 2 }
			{ exit !near(a, $1) }' "$TMP/expected" ||
			fail "$1 $file: $relative, not $(cat "$TMP/expected")"
	done <"$TMP/lines"
}

need getfattr
cp "$here/../models/scribe-f16-tensors.gguf" "$TMP/scribe.gguf"
mount_model -o noassemble "$TMP/scribe.gguf"
check_table q8_0
check_table q4_0
# The organ's own type loses nothing, and fewer bits lose more.
equal "$(tail -n +2 "$types/f16/loss.tsv" | awk '$2 == "F16" && $5 != 0 || $3 != $4')" ''
paste "$types/q8_0/loss.tsv" "$types/q4_0/loss.tsv" | tail -n +2 >"$TMP/both"
equal "$(awk '!($1 == $6 && $5 < $10)' "$TMP/both")" ''

# A graft has its own error.
organ=$(cut -f 1 "$TMP/both" | head -n 1)
before=$(field q4_0 "$organ" 5)
cp "$types/q4_0/$organ" "$MNT/$organ"
equal "$(field q4_0 "$organ" 5)" 0
echo "$organ" >"$MNT/.undo"
equal "$(field q4_0 "$organ" 5)" "$before"
expect_fail 'permission denied|read-only' sh -c "echo >'$types/q4_0/loss.tsv'"
absent "$MNT/.views/npy/loss.tsv"
kill_daemon

# F32, and rows of 64 values.
mount_model -o ro "$(use stories260K)"
check_table q8_0
equal "$(wc -l <"$MNT/.views/types/q4_k/loss.tsv")" 1
unmount_and_wait

# A listing computes nothing.
"$GGUF" synth "$TMP/large.gguf" --tensors 20 --vocab 10 --size 500G --organ 400G
mount_model "$TMP/large.gguf"
types=$MNT/.views/types
before=$(bytes_read)
in_time 60 ls -lR "$types" >"$TMP/listing"
in_time 60 stat "$types/q8_0/loss.tsv" >"$TMP/stat"
in_time 60 head -c 30 "$types/q8_0/loss.tsv" >"$TMP/head"
! has_read $((before + (16 << 20))) || fail 'a look computes'
for signal in INT KILL; do
	at_terminal cat "$types/q8_0/loss.tsv" >"$TMP/out" 2>&1 &
	pid=$!
	comes_to_work || late 'nothing is computed'
	in_time 60 cat "$MNT"/norm/*.theta >"$TMP/theta" || fail 'θ does not get through'
	kill -s $signal $pid
	until_true 60 is_gone $pid || fail "$signal does not end the cat"
	wait $pid 2>/dev/null || true
	until_true 60 is_idle || fail "the computation goes on after $signal"
done
# The mount ends during reads.
cat "$types/q8_0/loss.tsv" >"$TMP/out" 2>&1 &
comes_to_work || late 'nothing is computed'
kill -s TERM "${DAEMON[$MNT]}"
wait_daemon
wait
