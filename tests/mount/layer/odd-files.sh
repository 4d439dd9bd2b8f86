#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: unit tests read the same files with sanitizers
# timeout: 600
# A foreign or damaged layer: a FIFO, socket, link, directory or device in place of a file, no
# database or another one, rows that no mount writes, overwritten pages. The mount is refused in
# one line, or shows the confirmed content and EIO for unreadable organs; it does not block, and
# writes nothing outside of the layer.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/blk_0_ffn_up.bin"
"$GGUF" organ "$donor" blk.1.attn_norm.weight "$TMP/blk_1_attn_norm.bin"
"$GGUF" organ "$donor" token_embd.weight "$TMP/token_embd.bin"
for organ in blk_1_attn_norm token_embd; do # they equal the base's
	printf 'other' | dd of="$TMP/$organ.bin" bs=1 seek=100 conv=notrunc status=none
done
cp "$TMP/blk_0_ffn_up.bin" "$TMP/blk_5_ffn_up.bin"
"$LORA" make "$base" "$TMP/style.gguf" 'blk.0.attn_q.weight'

# The layer has a row of each kind, one blob in a file, and some in rows. The organs that it shows
# are confirmed.
CONFIRMED='organs/blk_0_ffn_up norm/blk_1_attn_norm embed/token_embd organs/blk_3_ffn_up
	organs/blk_5_ffn_up'
mount_model -o "layer=$TMP/plain,compress=off" "$base"
cp "$TMP/blk_0_ffn_up.bin" "$TMP/blk_5_ffn_up.bin" "$MNT/organs/"
cp "$TMP/blk_1_attn_norm.bin" "$MNT/norm/"
cp "$TMP/token_embd.bin" "$MNT/embed/"
ln -sf "$TMP/blk_0_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
rm "$MNT/organs/blk_2_ffn_up.bin" "$MNT/metadata/general.name"
echo odd >"$MNT/metadata/general.description"
echo 64 >"$MNT/metadata/llama.context_length"
cp "$MNT/organs/blk_4_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
ln -s "$TMP/style.gguf" "$MNT/adapters/style.gguf"
echo 0.5 >"$MNT/adapters/style.scale"
for slot in $CONFIRMED; do
	cp "$MNT/$slot.bin" "$TMP/${slot##*/}.bin"
done
cut -f 1 "$MNT/.grafts" | sort >"$TMP/grafts"
unmount_and_wait
blob=$(layer_file "$TMP/plain" embed/token_embd)
exists "$blob"
blob=blobs/${blob##*/}

again() {
	rm -rf "$TMP/layer"
	cp -a "$TMP/plain" "$TMP/layer"
}

# odd KIND PATH: replace the file by an irregular one.
odd() {
	rm -rf "$2"
	case $1 in
	fifo) mkfifo "$2" ;;
	link) ln -s "$TMP/fifo" "$2" ;;
	directory) mkdir "$2" ;;
	device) mknod "$2" c 1 5 ;;
	socket) python3 -c 'import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1]))
socket.socket(socket.AF_UNIX).bind(os.path.basename(sys.argv[1]))' "$2" ;;
	esac
}

# Read and change everything in the mount, within a generous time.
use_it() {
	in_time 60 bash -c '
		ls -lR "$1" >/dev/null
		cat "$1/.log" "$1/.grafts" >/dev/null
		for file in "$1"/organs/blk_?_ffn_up.bin "$1"/metadata/* "$1"/adapters/*; do
			[ -L "$file" ] || cat "$file" >/dev/null # the shell would wait
		done
		cp "$2/blk_0_ffn_up.bin" "$1/organs/blk_3_ffn_down.bin"
		cp --remove-destination "$2/blk_0_ffn_up.bin" "$1/organs/blk_0_ffn_up.bin"
		cp "$2/token_embd.bin" "$1/embed/token_embd.bin"
		mv "$1/organs/blk_0_ffn_gate.bin" "$1/organs/blk_7_ffn_gate.bin"
		rm "$1/organs/blk_1_ffn_gate.bin"
		echo new >"$1/metadata/general.description"
		echo 2 >"$1/adapters/style.scale"
		exit 0' - "$MNT" "$TMP" >"$TMP/used" 2>&1 </dev/null
}

# mounts_or_not CASE: true after a mount; false after a refusal in one line.
mounts_or_not() {
	local status=0
	in_time 20 "$ORGANFS" -o "layer=$TMP/layer,noassemble" "$base" "$MNT" \
		>"$TMP/said" 2>&1 </dev/null || status=$?
	if [ $status = 0 ]; then
		mounts=$((mounts + 1))
		return
	fi
	equal $status 1 "exit status with $1: $(cat "$TMP/said")"
	equal "$(wc -l <"$TMP/said")" 1 "lines with $1: $(cat "$TMP/said")"
	! mountpoint -q "$MNT" || fail "$1 is refused and mounted"
	refusals=$((refusals + 1))
	return 1
}

# shows_confirmed CASE: every organ has its bytes, or is unreadable and named in the log.
shows_confirmed() {
	local slot
	for slot in $CONFIRMED; do
		if in_time 60 cat "$MNT/$slot.bin" >"$TMP/read" 2>"$TMP/why"; then
			cmp "$TMP/read" "$TMP/${slot##*/}.bin" || fail "$1: other bytes of $slot"
		else
			grep -q 'Input/output error' "$TMP/why" || fail "$1: $(cat "$TMP/why")"
			grep -q "${slot##*/}" "$MNT/.log" || fail "$1: no word of $slot"
		fi
	done
	cut -f 1 "$MNT/.grafts" | sort | diff - "$TMP/grafts" || fail "$1: other grafts"
}

mkfifo "$TMP/fifo"
mounts=0
refusals=0
kinds='fifo link directory socket'
[ "$(id -u)" != 0 ] || kinds="$kinds device"
for file in layer.db layer.db-wal layer.db-journal blobs "$blob" reserve; do
	for kind in $(rounds "$kinds" "$(shuf -n 2 -e $kinds)"); do
		again
		odd "$kind" "$TMP/layer/$file"
		if mounts_or_not "$file as a $kind"; then
			[ "$file" = blobs ] || shows_confirmed "$file as a $kind"
			use_it || fail "$file as a $kind: $(cat "$TMP/used")"
			unmount_and_wait
		else
			[ -e "$TMP/layer/$file" ] || [ -L "$TMP/layer/$file" ] ||
				fail "$file as a $kind is refused and gone"
		fi
	done
done
[ $mounts -ge "$(rounds 8 3)" ] || fail "only $mounts mounts"
[ $refusals -ge "$(rounds 15 6)" ] || fail "only $refusals refusals"

# refused PATTERN: the mount fails, with a sentence of these words.
refused() {
	! mounts_or_not "$1" || fail "not refused: $1"
	grep -Eq -- "^organfs: $TMP/layer: .*$1" "$TMP/said" || fail "says: $(cat "$TMP/said")"
}
again
odd fifo "$TMP/layer/layer.db"
refused 'not a regular file'
again
odd fifo "$TMP/layer/layer.db-wal"
refused 'not a regular file'
# When SQLite reads such a journal, it removes the file that the journal names.
again
echo mine >"$TMP/mine"
python3 - "$TMP/layer/layer.db-journal" "$TMP/mine" <<'END'
import struct, sys
name = sys.argv[2].encode()
page = struct.pack('>I', 0x40000000 // 4096 + 1)
magic = bytes.fromhex('d9d505f920a163d7')
with open(sys.argv[1], 'wb') as f:
    f.write((magic + struct.pack('>IIIII', 0, 0, 1, 512, 4096)).ljust(512, b'\0'))
    f.write(page + name + struct.pack('>II', len(name), sum(name)) + magic)
END
refused 'another program has left layer.db-journal'
equal "$(cat "$TMP/mine")" mine
exists "$TMP/layer/layer.db-journal"
again
: >"$TMP/layer/LAYER"
refused 'organfs 0.2 or older'

# A blob's file is missing, short, long, damaged, or another one: the slot is unreadable.
broken_blob() {
	mounts_or_not "$1" || fail "$1 is refused: $(cat "$TMP/said")"
	shows_confirmed "$1"
	expect_fail 'input/output error' cat "$MNT/embed/token_embd.bin"
	same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/blk_0_ffn_up.bin"
	cp "$TMP/token_embd.bin" "$MNT/embed/"
	same "$MNT/embed/token_embd.bin" "$TMP/token_embd.bin"
	unmount_and_wait
}
again
rm "$TMP/layer/$blob"
broken_blob 'no file'
again
truncate -s -1 "$TMP/layer/$blob"
broken_blob 'a short file'
again
: >"$TMP/layer/$blob"
broken_blob 'an empty file'
again
truncate -s +1 "$TMP/layer/$blob"
broken_blob 'a long file'
again
printf 'x' | dd of="$TMP/layer/$blob" bs=1 seek=100000 conv=notrunc status=none
broken_blob 'another byte'
again
"$GGUF" organ "$base" token_embd.weight "$TMP/layer/$blob"
broken_blob 'another organ'
again
layer_change "$TMP/layer" "UPDATE blob SET form = 'zstd' WHERE bytes IS NULL"
broken_blob 'no frames of zstd'

# Nothing is written outside of the layer, and other programs' files stay.
again
mkdir "$TMP/outside"
echo mine >"$TMP/outside/1"
rm -r "$TMP/layer/blobs"
ln -s "$TMP/outside" "$TMP/layer/blobs"
refused '(Not a directory|symbolic links)'
status=0
"$ORGANFS" -o "layer=$TMP/layer,ro" "$base" "$MNT" >"$TMP/said" 2>&1 </dev/null || status=$?
equal $status 1 "a link in place of blobs, ro: $(cat "$TMP/said")"
equal "$(ls -A "$TMP/outside")" 1 'files outside of the layer'
again
rm "$TMP/layer/reserve"
ln "$TMP/mine" "$TMP/layer/reserve"
echo theirs >"$TMP/layer/blobs/NOTES"
: >"$TMP/layer/blobs/77"
mounts_or_not 'a reserve with two names'
use_it || fail "$(cat "$TMP/used")"
unmount_and_wait
equal "$(cat "$TMP/mine")" mine
equal "$(cat "$TMP/layer/blobs/NOTES")" theirs
absent "$TMP/layer/blobs/77"

# Values that no mount writes, against the schema's constraints. A line has one case's statements;
# a backslash continues it.
cat >"$TMP/statements" <<'END'
UPDATE slot SET kind = 'copied' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET kind = 'removed' || char(0) || 'x' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET kind = 'copy' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET kind = 'link' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET kind = 'reference' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET class = 'nothing' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET class = 'adapters' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET class = '../organs' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET name = '' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET name = '..' WHERE name = 'blk_2_ffn_up'
UPDATE slot SET name = '../../x' WHERE name = 'blk_5_ffn_up'
UPDATE slot SET name = 'blk_5/ffn_up' WHERE name = 'blk_5_ffn_up'
UPDATE slot SET name = char(10) || 'x' WHERE name = 'blk_5_ffn_up'
UPDATE slot SET name = CAST(X'ff00ff' AS TEXT) WHERE name = 'blk_5_ffn_up'
UPDATE slot SET name = printf('%0250d', 0) WHERE name = 'blk_5_ffn_up'
UPDATE slot SET name = printf('%0300d', 0) WHERE name = 'blk_5_ffn_up'
UPDATE slot SET name = printf('%01000000d', 0) WHERE name = 'blk_5_ffn_up'
UPDATE slot SET mtime = 9223372036854775807
UPDATE slot SET mtime = -9223372036854775808
UPDATE slot SET blob = 0 WHERE name = 'blk_5_ffn_up'
UPDATE slot SET blob = -1 WHERE name = 'blk_5_ffn_up'
UPDATE slot SET blob = 12345 WHERE name = 'blk_5_ffn_up'
UPDATE slot SET blob = NULL WHERE name = 'blk_5_ffn_up'
UPDATE slot SET blob = (SELECT max(blob) FROM slot) WHERE name = 'blk_2_ffn_up'
UPDATE slot SET target = '' WHERE kind = 'link'
UPDATE slot SET target = '/dev/zero' WHERE kind = 'link'
UPDATE slot SET target = printf('%01000000d', 0) WHERE kind = 'link'
UPDATE slot SET uid = -1, gid = -1
UPDATE slot SET uid = 4294967296, gid = NULL
UPDATE slot SET reference = 'x'
UPDATE slot SET reference = char(0)
UPDATE slot SET reference = printf('%01000000d', 0)
UPDATE slot SET tensor = zeroblob(1000000)
UPDATE slot SET donor = printf('/%01000000d', 0), donor_fingerprint = hex(zeroblob(16))
INSERT INTO blob VALUES (9223372036854775807, 'plain', 1, hex(zeroblob(16)), X'00')
UPDATE blob SET number = 9223372036854775807 WHERE number = 1; UPDATE slot SET blob = \
9223372036854775807 WHERE blob = 1
UPDATE blob SET number = -number
UPDATE blob SET form = 'gzip'
UPDATE blob SET form = 'zstd'
UPDATE blob SET size = -1
UPDATE blob SET size = 9223372036854775807
UPDATE blob SET size = 9223372036854775807, bytes = NULL
UPDATE blob SET size = size + 1 WHERE number > 1
UPDATE blob SET bytes = X'' WHERE number > 1 AND bytes IS NOT NULL
UPDATE blob SET bytes = zeroblob(100000000) WHERE bytes IS NULL
UPDATE blob SET xxh128 = ''
UPDATE blob SET xxh128 = upper(xxh128)
UPDATE blob SET xxh128 = xxh128 || char(0) || xxh128
DELETE FROM blob
DELETE FROM base
UPDATE base SET fingerprint = ''
UPDATE base SET fingerprint = printf('%01000000d', 0)
UPDATE base SET name = char(10) || printf('%01000000d', 0)
INSERT INTO base SELECT 2, name, path, 'x', contents, times FROM base
UPDATE key SET name = '../general.name' WHERE removed = 1
UPDATE key SET name = '' WHERE removed = 1
UPDATE key SET name = printf('%0300d', 0) WHERE removed = 1
UPDATE key SET name = 'general/name' WHERE name = 'general.description'
UPDATE key SET type = 'nothing' WHERE name = 'llama.context_length'
UPDATE key SET type = '', text = NULL
UPDATE key SET removed = 7
UPDATE key SET text = zeroblob(10000000) WHERE name = 'llama.context_length'
UPDATE adapter SET file = '../style.gguf' WHERE target IS NOT NULL
UPDATE adapter SET file = '' WHERE text IS NOT NULL
UPDATE adapter SET target = text, text = target
UPDATE adapter SET target = NULL, text = NULL
UPDATE adapter SET text = printf('%01000000d', 0) WHERE text IS NOT NULL
INSERT INTO merge VALUES (1, '', 0, 0, 0)
INSERT INTO merge VALUES (1, printf('%010000000d', 0), 0, 0, 0)
UPDATE directory SET name = '../x' WHERE name = 'organs'
UPDATE directory SET mtime = -9223372036854775808
DROP TABLE base
DROP TABLE slot
DROP TABLE blob
DROP TABLE key
DROP TABLE adapter
DROP TABLE merge
DROP TABLE directory
DROP INDEX slot_blob
ALTER TABLE slot DROP COLUMN donor_view
ALTER TABLE slot ADD COLUMN more TEXT
ALTER TABLE key RENAME COLUMN text TO words
DROP TABLE adapter; CREATE VIEW adapter AS WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a \
+ 1 FROM r) SELECT a AS file, a AS target, a AS uid, a AS gid, a AS text, a AS mtime FROM r
PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'slot_blob'
PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE slot (' WHERE name = \
'slot'
PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 2
PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 1000000 WHERE name = 'key'
PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(replace(sql, 'NOT NULL', \
''), 'STRICT', '')
PRAGMA journal_mode = DELETE
PRAGMA user_version = 0
PRAGMA user_version = -1
PRAGMA application_id = 0
END
mounts=0
refusals=0
while read -r statement; do
	again
	echo "$statement"
	layer_change "$TMP/layer" '.dbconfig defensive off' \
		'PRAGMA ignore_check_constraints = ON' 'PRAGMA foreign_keys = OFF' "$statement" \
		>/dev/null || fail 'this cannot be done'
	if mounts_or_not "$statement"; then
		use_it || fail "$(cat "$TMP/used")"
		same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/blk_0_ffn_up.bin"
		unmount_and_wait
	fi
done < <(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$TMP/statements" | some 24)
[ $mounts -gt 0 ] && [ $refusals -gt 0 ] || fail "$mounts mounts, $refusals refusals"

# Tables of another schema are refused.
for change in 'CREATE TRIGGER t AFTER INSERT ON blob BEGIN DELETE FROM slot; END' \
	'CREATE UNIQUE INDEX i ON slot (class, name, mtime)' \
	'ALTER TABLE slot ADD COLUMN more TEXT'; do
	again
	layer_change "$TMP/layer" "$change"
	refused 'not those of a layer'
done

# Each page is overwritten in turn.
cat >"$TMP/overwrite.py" <<'END'
import random, sys
path, at, size, kind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with open(path, 'r+b') as f:
    f.seek(at)
    f.write(bytes(size) if kind == 'zeros' else random.Random(at).randbytes(size))
END
page=$(layer_sql "$TMP/plain" 'PRAGMA page_size')
pages=$(($(stat -c %s "$TMP/plain/layer.db") / page))
for k in $(seq 0 $((pages - 1)) | some 12); do
	for kind in zeros random; do
		again
		python3 "$TMP/overwrite.py" "$TMP/layer/layer.db" $((k * page)) "$page" $kind
		if mounts_or_not "page $k with $kind"; then
			shows_confirmed "page $k with $kind"
			use_it || fail "page $k with $kind: $(cat "$TMP/used")"
			unmount_and_wait
		fi
	done
done

# The write-ahead log of a killed mount ends at its damage; earlier changes are there.
again
"$GGUF" organ "$base" blk.4.ffn_up.weight "$TMP/blk_4_ffn_up.bin"
mount_model -o "layer=$TMP/layer,noassemble" "$base"
cp "$TMP/blk_0_ffn_up.bin" "$MNT/organs/blk_4_ffn_up.bin"
kill_daemon
cp -a "$TMP/layer" "$TMP/killed"
size=$(stat -c %s "$TMP/killed/layer.db-wal")
for k in $(seq 0 $((size / 4000)) | some 4); do
	for kind in zeros random; do
		rm -r "$TMP/layer"
		cp -a "$TMP/killed" "$TMP/layer"
		python3 "$TMP/overwrite.py" "$TMP/layer/layer.db-wal" $((k * 4000)) 4000 $kind
		mounts_or_not "the log at $k with $kind" || fail "refused: $(cat "$TMP/said")"
		for slot in organs/blk_0_ffn_up norm/blk_1_attn_norm embed/token_embd; do
			same "$MNT/$slot.bin" "$TMP/${slot##*/}.bin"
		done
		cmp -s "$MNT/organs/blk_4_ffn_up.bin" "$TMP/blk_0_ffn_up.bin" ||
			same "$MNT/organs/blk_4_ffn_up.bin" "$TMP/blk_4_ffn_up.bin"
		unmount_and_wait
	done
done

# An interrupted mount has left only the beginning of a database.
for size in 0 100 4096; do
	rm -rf "$TMP/layer"
	mkdir "$TMP/layer"
	head -c $size "$TMP/plain/layer.db" >"$TMP/layer/layer.new"
	: >"$TMP/layer/layer.new-journal"
	mounts_or_not "a database of $size bytes" || fail "refused: $(cat "$TMP/said")"
	cp "$TMP/blk_0_ffn_up.bin" "$MNT/organs/"
	unmount_and_wait
	equal "$(layer_sql "$TMP/layer" 'SELECT count(*) FROM slot')" 1
done

# An unreadable private layer is left alone, with a message.
mount_model -o noassemble "$base"
cp "$TMP/blk_0_ffn_up.bin" "$MNT/organs/"
unmount_and_wait
private=$(echo "$XDG_STATE_HOME"/organfs/*)
python3 "$TMP/overwrite.py" "$private/layer.db" 0 100 random
"$ORGANFS" -o noassemble "$base" "$MNT" >"$TMP/said" 2>&1 </dev/null
grep -q "begins without the grafts in $private: layer.db: file is not a database" "$TMP/said" ||
	fail "says: $(cat "$TMP/said")"
equal "$(cat "$MNT/.grafts")" ''
unmount_and_wait
exists "$private/layer.db"
