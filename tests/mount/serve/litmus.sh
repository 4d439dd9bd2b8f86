#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# release: needs litmus
# litmus, the test suite for WebDAV servers, in metadata/, where a file can have any name and text.
# It fails as organ-serve(1) says: no directory can be made, and locks prevent no PUT.
# timeout: 300
. "${0%/*}/../lib.sh"

need litmus python3
[[ $(dpkg-query -W -f '${Version}' litmus 2>/dev/null) == 0.13-* ]] || skip 'no litmus 0.13'
base=$(use scribe-Q4_K_M)
mount_model -o noassemble "$base"
serve "$MNT"
"$here/../tools/collection.py" "$(echo "$URL" | grep -o '[0-9]*/$' | tr -d /)" metadata \
	"$TMP/port" 2>"$LOGS/collection" </dev/null &
proxy=$!
trap 'kill "$proxy"' EXIT
until_true 60 test -s "$TMP/port" || late "no proxy: $(cat "$LOGS/collection")"

# Expected failures, each with its suite.
cat >"$TMP/expected" <<END
basic delete_fragment
basic mkcol
copymove copy_init
copymove copy_coll
copymove copy_shallow
copymove move
copymove move_coll
props propfind_invalid2
locks notowner_modify
locks fail_cond_put
locks cond_put_corrupt_token
locks fail_complex_cond_put
locks fail_cond_put_unlocked
locks prep_collection
locks lock_collection
END
cd "$TMP"
litmus -k "http://127.0.0.1:$(cat port)/metadata/" 2>&1 | tr '\r' '\n' >said || true
awk -v quote="'" '/^-> running/ { split($0, words, "[`" quote "]"); suite = words[2] }
	/FAIL/ { gsub(/^ *[0-9]*\. |\.* FAIL.*/, ""); print suite, $0 }' said | sort -u >failed
sort expected | comm -13 - failed >unexpected
[ ! -s unexpected ] || fail "$(grep -F FAIL said)"
equal "$(grep -c '^<- summary' said)" 5
for part in put_get propset lock_excl expect100; do
	grep -Eq "$part\.* pass" said || fail "$part: $(grep -F $part said)"
done
unmount_served
