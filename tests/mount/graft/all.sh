#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cp -r of whole class directories: a model with every slot grafted is the donor.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use stories260K-donor)
mkdir "$TMP/donor"
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"
for class in skeleton organs embed norm; do
	cp -r "$TMP/donor/$class" "$MNT/"
done
same "$MNT/model.gguf" "$donor"
# An organ equal to the base's is no graft.
differing=0
for file in "$MNT"/*/*.bin; do
	cmp -s "$file" "$MNT/.base/${file#"$MNT/"}" || differing=$((differing + 1))
done
equal "$(wc -l <"$MNT/.grafts")" "$differing" 'lines in .grafts'
[ $differing -gt 10 ] || fail "only $differing grafts"
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$donor"
unmount_and_wait "$TMP/donor"
