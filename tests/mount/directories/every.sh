#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A copy of a mount, by cp, tar and rsync, is the same model to the last byte: every model and
# every malformed file that can be mounted.
# timeout: 300
. "${0%/*}/../lib.sh"
need rsync

again=$TMP/again
mkdir "$again"

# sums_of DIRECTORY: hashes of its complete models, and of their organs.
sums_of() {
	(cd "$1" && xxhsum -H2 "${models[@]/%//model.gguf}" &&
		find "${models[@]}" -mindepth 2 -name '*.bin' -print0 | LC_ALL=C sort -z |
		xargs -0 xxhsum -H2)
}

# is_again DIRECTORY: its models equal the mounted ones.
is_again() {
	mount_model -o ro "$1" "$again"
	sums_of "$again" >"$TMP/got" || fail "after $1: $(grep -h passed "$again/.log")"
	diff "$TMP/want" "$TMP/got" || fail "not the same after $1"
	unmount_and_wait "$again"
	rm -r "$1"
}

for from in "$MODELS" "$MALFORMED"; do
	mount_model -o ro "$from"
	# A model that lacks shards has no header; one without tensors has no directory. One with
	# 20,000 tensors is omitted, because it takes long.
	models=()
	for model in "$MNT"/*/; do
		[ "${model%/tensors-20k/}" = "$model" ] && [ -s "$model/header.gguf" ] &&
			compgen -G "$model*/*.bin" >/dev/null || continue
		equal "$(stat -c %s "$model/header.gguf")" "$(wc -c <"$model/header.gguf")"
		model=${model%/}
		models+=("${model##*/}")
	done
	[ ${#models[@]} -gt 5 ] || fail "only ${#models[@]} models could be mounted"
	sums_of "$MNT" >"$TMP/want"
	mkdir "$TMP"/{cp,tar,rsync}
	(cd "$MNT" && cp -r "${models[@]}" "$TMP/cp" && rm "$TMP/cp"/*/model.gguf)
	is_again "$TMP/cp"
	(cd "$MNT" && tar -cf - --exclude=model.gguf "${models[@]}" | tar -C "$TMP/tar" -xf -)
	is_again "$TMP/tar"
	(cd "$MNT" && rsync -a --exclude=model.gguf "${models[@]}" "$TMP/rsync")
	is_again "$TMP/rsync"
	unmount_and_wait
done
