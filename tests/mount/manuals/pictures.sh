#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: commands are scripts
# README's pictures are those of the current organfs. If they are not, `make pictures` makes them.
. "${0%/*}/../lib.sh"

root=$(cd "$here/../.." && pwd)
mkdir "$TMP/pictures"
"$root/tests/pictures" --theta "$TMP/pictures"
same "$TMP/pictures/theta-chimera.svg" "$root/mount-helpers/theta-chimera.svg"
stamp=$("$root/tests/pictures" --stamp "$TMP/pictures")
LC_ALL=C grep -aqF "$stamp" "$root/mount-helpers/page.png" ||
	fail 'the page is another one now than in page.png'
for picture in theta-chimera.svg page.png; do
	grep -qF "(mount-helpers/$picture)" "$root/README.md" || fail "README has no $picture"
done
