#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --unpack, --check, --theta and --npy without a mount: --pack gives each model back, a run
# resumes after a kill or a full disk, and no other file is overwritten.
# plain: the program that is killed has no sanitizer
. "${0%/*}/../lib.sh"

dir=$TMP/d
unpack() {
	"$ORGANFS" --unpack "$@" 2>"$TMP/said" || fail "--unpack $*: $(cat "$TMP/said")"
}
said() {
	grep -q -- "$1" "$TMP/said" || fail "not said: $1: $(cat "$TMP/said")"
}

# The packed tree of every model, and of every valid malformed file, is the packed model.
n=0
for model in "$MODELS"/*.gguf $(printf "%s\n" "$MALFORMED"/*.gguf | some 20); do
	case $model in */tensors-20k.gguf | *-0000[2-9]-of-*) continue ;; esac
	rm -rf "$dir" "$TMP"/{want,got}.gguf
	"$ORGANFS" --pack "$model" "$TMP/want.gguf" 2>/dev/null || continue
	"$ORGANFS" --unpack "$model" "$dir" 2>/dev/null || fail "$model is not unpacked"
	if compgen -G "$dir/*/*.bin" >/dev/null; then
		"$ORGANFS" --pack "$dir" "$TMP/got.gguf" 2>/dev/null || fail "$model is not packed"
		same "$TMP/want.gguf" "$TMP/got.gguf"
		(cd "$dir" && xxhsum -H2 -cq checksums.xxh128) || fail "checksums of $model"
		n=$((n + 1))
	fi
done
[ $n -gt 8 ] || fail "only $n models were unpacked"

# A second run changes nothing; one with --theta adds cells and tables.
model=$(use scribe-Q4_K_M)
rm -rf "$dir"
unpack "$model" "$dir"
said '57 organs, .*; 0 files were there already'
equal "$(cd "$dir" && echo *)" \
	'checksums.xxh128 embed header.gguf manifest.json norm organs skeleton'
find "$dir" -type f -printf '%p %i %T@\n' | sort >"$TMP/before"
unpack --theta "$model" "$dir"
said '60 files were there already'
find "$dir" -type f ! -name '*.theta' -printf '%p %i %T@\n' | sort | diff "$TMP/before" -
equal "$(find "$dir" -name '*.theta' | wc -l)" 61
equal "$(wc -c <"$dir/organs/blk_2_ffn_up.theta")" 6
cp -r "$dir" "$TMP/whole"

# After kill -9 or a full disk at any call that changes the disk, each named file is whole, and the
# same command resumes.
if [ -x "$FAULTY" ]; then
	for k in $(shuf -i 1-120 -n "$(rounds 30 6)"); do
		what=$([ $((k % 3)) = 0 ] && echo ENOSPC+ || echo kill)
		rm -rf "$dir"
		! ORGANFS_FAULT=any:$k:$what "$FAULTY" --unpack "$model" "$dir" 2>"$TMP/said" ||
			fail "call $k: not ended by $what"
		[ "$what" = kill ] || said 'No space left on device'
		[ ! -d "$dir" ] || (cd "$dir" && find . -name '*.bin' -o -name '*.json') |
			while read -r file; do
				cmp "$dir/$file" "$TMP/whole/$file" || fail "call $k: part of $file"
			done
		unpack "$model" "$dir"
		diff -r -x '*.theta' "$dir" "$TMP/whole" || fail "call $k: not the same after $what"
		equal "$(find "$dir" -name '.organfs-*')" '' "call $k: something is left"
	done
fi

# Ctrl-C leaves no partial file.
if [ -x "$FAULTY" ]; then
	rm -rf "$dir" "$TMP/arrived"
	: >"$TMP/held"
	ORGANFS_FAULT=any:60:hold:$TMP/held ORGANFS_FAULT_LOG=$TMP/arrived \
		"$FAULTY" --unpack "$model" "$dir" 2>"$TMP/said" &
	until_true 60 test -s "$TMP/arrived" || late 'no call is held'
	kill -TERM $!
	rm "$TMP/held"
	status=0
	wait $! || status=$?
	equal "$status" 1
	said 'd: interrupted; the same command goes on from here'
	equal "$(find "$dir" -name '.organfs-*')" '' 'a part is left'
	unpack "$model" "$dir"
	diff -r -x '*.theta' "$dir" "$TMP/whole"
fi

# A file with other bytes, even of the right size, is not part of the model: -f replaces it.
organ=$dir/organs/blk_2_ffn_up.bin
printf X | dd of="$organ" bs=1 seek=2000 conv=notrunc status=none
before=$(checksum "$organ")
expect_fail 'd/organs/blk_2_ffn_up.bin: it differs .* -f of --unpack replaces it' \
	"$ORGANFS" --unpack "$model" "$dir"
equal "$(checksum "$organ")" "$before"
unpack -f "$model" "$dir"
same "$organ" "$TMP/whole/organs/blk_2_ffn_up.bin"

# Links in the directory are not followed.
echo precious >"$TMP/victim"
mkdir "$TMP/elsewhere"
ln -sf "$TMP/victim" "$organ"
expect_fail 'it differs' "$ORGANFS" --unpack "$model" "$dir"
unpack -f "$model" "$dir"
equal "$(cat "$TMP/victim")" precious
same "$organ" "$TMP/whole/organs/blk_2_ffn_up.bin"
rm -r "$dir/organs"
ln -s "$TMP/elsewhere" "$dir/organs"
expect_fail 'd/organs: Not a directory' "$ORGANFS" --unpack -f "$model" "$dir"
equal "$(ls -A "$TMP/elsewhere")" ''
rm "$dir/organs"
unpack "$model" "$dir"

# Nothing is written beside other files or another model.
donor=$MODELS/clerk-Q4_K_M.gguf
expect_fail 'elsewhere: not empty, and not an unpacked model' \
	sh -c ': >"$3/x"; "$1" --unpack -f "$2" "$3"' - "$ORGANFS" "$model" "$TMP/elsewhere"
equal "$(ls -A "$TMP/elsewhere")" x
expect_fail 'd: it holds another model' "$ORGANFS" --unpack -f "$donor" "$dir"
expect_fail 'lacks .*-00002-of-00003.gguf' "$ORGANFS" --unpack \
	"$(use stories260K-split-00001-of-00003)" "$TMP/new"
absent "$TMP/new"
expect_fail 'it holds .* models' "$ORGANFS" --unpack "$MODELS" "$TMP/new"
expect_fail 'no space' sh -c '"$1" --theta "$2" >/dev/full' - "$ORGANFS" "$model"
equal "$("$ORGANFS" --unpack "$model" 2>/dev/null || echo $?)" 2

# --check names the donor of another tree's organs, and the risk.
"$ORGANFS" --unpack "$donor" "$TMP/c" 2>/dev/null
"$ORGANFS" --check "$dir" "$TMP/c" | grep -q '^ok.overall.no graft' ||
	fail 'a graft in a tree that was not changed'
cp "$TMP/c/organs/blk_2_ffn_up.bin" "$dir/organs/"
"$ORGANFS" --check "$dir" "$TMP/c" >"$TMP/check" || fail 'risky is no failure'
grep -qx 'ok.donor.c: 1 graft: blk 2 ffn_up; from .*' "$TMP/check" || fail "$(cat "$TMP/check")"
grep -q '^risky.unit.c: ffn gate, up and down are not from one place in blk 2' "$TMP/check"
"$ORGANFS" --check "$dir" | grep -q '^unknown.donor.copies: 1 graft: blk 2 ffn_up;' ||
	fail 'a graft without a donor'
"$ORGANFS" --check --json "$dir" "$TMP/c" | python3 -c '
import json, sys
lines = [l.rstrip("\n").split("\t") for l in open(sys.argv[1])]
want = [dict(verdict=v, check=c, reason=r.rstrip(" ")) for v, c, r in lines]
assert json.load(sys.stdin) == want' "$TMP/check"
# One graft is of the next block, one is impossible.
cp "$TMP/c/organs/blk_1_ffn_up.bin" "$dir/organs/blk_2_ffn_up.bin"
"$ORGANFS" --check "$dir" "$TMP/c" | grep -q '^ok.distance.c: block 1 into block 2' || fail block
for other in organs/blk_2_ffn_gate skeleton/blk_0_attn_q; do
	cp "$TMP/c/$other.bin" "$dir/organs/blk_2_ffn_up.bin"
	! "$ORGANFS" --check "$dir" "$TMP/c" >"$TMP/check" || fail "$other is not impossible"
	grep -q '^impossible.role.c: ' "$TMP/check" || fail "$(cat "$TMP/check")"
done
grep -q '^impossible.shape.c: .* is 256x256, the slot 256x512' "$TMP/check" || fail shape
echo junk >"$organ"
expect_fail 'lacks organs/blk_2_ffn_up.bin' "$ORGANFS" --check "$dir"
equal "$("$ORGANFS" --check "$dir" 2>&1 | grep -c lacks)" 1
# Without the checksums the bytes decide.
rm "$TMP/whole/checksums.xxh128"
cp "$TMP/c/organs/blk_2_ffn_up.bin" "$TMP/whole/organs/"
"$ORGANFS" --check "$TMP/whole" "$donor" | grep -q '^ok.donor.clerk-Q4_K_M: .* ffn_up' || fail bytes

# A tensor is printed as an array, by each of its names.
"$ORGANFS" --npy "$model" blk.0.attn_q.weight >"$TMP/want.npy"
python3 - "$TMP/want.npy" <<'END'
import sys
head = open(sys.argv[1], "rb").read(128)
assert head[:6] == b"\x93NUMPY" and b"'shape': (256, 256)" in head, head
END
for name in blk_0_attn_q blk_0_attn_q.npy skeleton/blk_0_attn_q.bin; do
	"$ORGANFS" --npy "$model" "$name" | cmp - "$TMP/want.npy"
done
expect_fail 'nosuch: the model has no such tensor' "$ORGANFS" --npy "$model" nosuch
expect_fail 'standard output is a terminal' script -qec "'$ORGANFS' --npy '$model' output" /dev/null
"$ORGANFS" --theta "$model" | grep -q '^model name *scribe-Q4_K_M$' || fail theta
"$ORGANFS" --theta --json "$model" | python3 -m json.tool >/dev/null
