#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# 16 readers of every θ file while grafts replace tensors: answers are whole and true.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use stories260K-donor)
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"
mkdir "$TMP/one" "$TMP/other" "$TMP/seen"
for file in "$MNT"/organs/*.bin; do
	name=${file##*/}
	cp "$file" "$TMP/one/"
	cp "$TMP/donor/organs/$name" "$TMP/other/"
	cat "${file%bin}theta" >"$TMP/first.${name%.bin}"
	cat "${file%bin}theta" "$TMP/donor/organs/${name%bin}theta" |
		sort -u >"$TMP/true.${name%.bin}"
done
before=$(descriptors)

read_all() {
	local name
	while [ ! -e "$TMP/over" ]; do
		for file in "$MNT"/organs/*.theta; do
			name=${file##*/}
			cat "$file" >>"$TMP/seen/$1.${name%.theta}" || return 1
		done
		cat "$MNT/.theta" "$MNT"/*/.theta >/dev/null || return 1
		cat "$MNT/theta.svg" "$MNT/manifest.json" >/dev/null || return 1
		getfattr -n user.organfs.signal "${file%theta}bin" >/dev/null || return 1
	done
}
readers=()
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	read_all $i 2>>"$TMP/errors" &
	readers+=($!)
done
for round in $(seq "$(rounds 6 2)"); do
	cp "$TMP/other/"*.bin "$MNT/organs/"
	cp "$TMP/one/"*.bin "$MNT/organs/"
done
touch "$TMP/over"
for pid in "${readers[@]}"; do
	wait "$pid" || fail "a reader failed: $(head -n 3 "$TMP/errors")"
done
for file in "$MNT"/organs/*.bin; do
	name=${file##*/}
	name=${name%.bin}
	cat "$TMP/seen/"*."$name" | sort -u | comm -23 - "$TMP/true.$name" >"$TMP/wrong"
	[ ! -s "$TMP/wrong" ] || fail "$name once had $(head -n 1 "$TMP/wrong") degrees"
	equal "$(cat "${file%bin}theta")" "$(cat "$TMP/first.$name")" "$name at the end"
done
# The listing drops files made from earlier grafts.
ls -lRa "$MNT" >/dev/null
# The layer has four descriptors, and each graft in force outside of a row has one.
no_leak $((before + 4 + $(ls "$XDG_STATE_HOME"/organfs/*/blobs | wc -l)))
unmount_and_wait "$TMP/donor"
unmount_and_wait
