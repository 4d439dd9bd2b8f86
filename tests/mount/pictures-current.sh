#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The pictures in README are those that organfs makes today. If they are not, `make pictures` makes
# them.
. "${0%/*}/lib.sh"

mkdir "$TMP/pictures"
"$here/../pictures" "$TMP/pictures"
for picture in "$TMP/pictures"/*; do
	same "$picture" "$here/../../mount-helpers/${picture##*/}"
	grep -qF "(mount-helpers/${picture##*/})" "$here/../../README.md" ||
		fail "README has no ${picture##*/}"
done
exists "$TMP/pictures/theta-chimera.svg"
