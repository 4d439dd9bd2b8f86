#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: the calls of the daemon are counted
# Count the calls of organfs and fusermount3 from mount to exit, beyond process start, and the
# bytes read: for a small model, many organs, grafts, a large vocabulary, 100 shards.
. "${0%/*}/../lib.sh"

need_strace
need_root # a traced fusermount3 has no rights

is_mounted() {
	mountpoint -q "$MNT" || ! kill -0 "$TRACER" 2>/dev/null
}

# mount_counted KEY MODEL [OPTIONS]: mount and count.
mount_counted() {
	strace -f -qq -o "$TMP/calls" -e "trace=$ANY_CALL" "$ORGANFS" -o "ro${3-}" "$2" "$MNT" \
		>"$TMP/.said" 2>&1 </dev/null &
	TRACER=$!
	until_true 60 is_mounted || late "$2 is not mounted after 60 s"
	mountpoint -q "$MNT" || fail "$2 is not mounted: $(cat "$TMP/.said")"
	# The kernel's first request comes after the mount.
	stat "$MNT/organs" >"$TMP/.said"
	fusermount3 -u "$MNT"
	wait $TRACER || fail "organfs ends with $?"
	counted
	at_most "mount of $1: calls" $((n - start))
	at_most "mount of $1: KiB read" $(((bytes - start_bytes) >> 10))
}

counted() {
	# The length of the mount table, which mount(8) rewrites, depends on the machine.
	n=$(($(count_calls) - $(calls write)))
	bytes=$(returned pread64 preadv preadv2)
}

# The dynamic linker makes different calls in every release: subtract them.
strace -f -qq -o "$TMP/calls" -e "trace=$ANY_CALL" "$ORGANFS" --version >"$TMP/.said" ||
	fail 'organfs --version'
counted
start=$n
start_bytes=$bytes

mount_counted 'a small model' "$MODELS/scribe-Q4_K_M.gguf"
"$GGUF" small "$TMP/base.gguf" 1000
mount_counted '2,000 organs' "$TMP/base.gguf"
mount_model -o "layer=$TMP/layer,noassemble" "$TMP/base.gguf"
name=$(ls "$MNT/organs" | head -n 1)
head -c 4096 "$MNT/organs/$name" >"$TMP/organ"
tail -c +4097 "$MNT/organs/$name" | tr '\0-\377' '\1-\377\0' >>"$TMP/organ"
cp "$TMP/organ" "$MNT/organs/$name"
grep -q . "$MNT/.grafts" || fail 'no graft'
unmount_and_wait
mount_counted '2,000 organs with a layer' "$TMP/base.gguf" ",layer=$TMP/layer"
"$GGUF" synth "$TMP/large.gguf" --tensors 1100 --vocab 160000 --size 4G
mount_counted 'a vocabulary of 160,000' "$TMP/large.gguf"
mkdir "$TMP/shards"
"$GGUF" split "$TMP/base.gguf" "$TMP/shards/base" 100
first=$(find "$TMP/shards" -name '*00001-of-*')
mount_counted '100 shards' "$first"
