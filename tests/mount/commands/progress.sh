#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Long commands show their progress on a terminal, in one line that disappears before other output,
# and only there.
. "${0%/*}/../lib.sh"

need script
base=$(use scribe-Q4_K_M)
[ -x "$FAULTY" ] || skip "$FAULTY is not built"

has_line() {
	grep -aqsE "$1" "$TMP/typescript"
}

# at_line CALL:K PATTERN COMMAND: run at a terminal, held at the K-th CALL until the line appears.
at_line() {
	local call=$1 pattern=$2 shell
	shift 2
	rm -f "$TMP/typescript"
	hold
	export ORGANFS_FAULT=$call:hold+:$TMP/held
	script -qefc "$(printf '%q ' "$@")" "$TMP/typescript" >/dev/null </dev/null &
	shell=$!
	until_true 60 eval 'has_line "$pattern" || is_gone $shell' || late "$call: no line"
	has_line "$pattern" || fail "no line: $(cat -v "$TMP/typescript")"
	release
	wait $shell || fail "$*: $(cat -v "$TMP/typescript")"
	unset ORGANFS_FAULT
}

at_line fsync:1 'scribe-Q4_K_M: 100 %, 2 of 2 MB' "$FAULTY" --pack "$base" "$TMP/out.gguf"
same "$TMP/out.gguf" "$base"
# The result follows on a line of its own.
tr '\r' '\n' <"$TMP/typescript" | grep -aq '^organfs: assembled: ' ||
	fail "$(cat -v "$TMP/typescript")"

"$ORGANFS" --pack "$base" "$TMP/other.gguf" >"$TMP/said" 2>&1
equal "$(wc -l <"$TMP/said")" 1
! grep -q '%\|	' "$TMP/said" || fail "$(cat "$TMP/said")"

# A picture shows measurements, a difference shows comparisons.
other=$(use clerk-Q4_K_M)
tensors='[0-9]+ %, [0-9]+ of [0-9]+ tensors'
at_line pread64:10 "scribe-Q4_K_M: $tensors" "$FAULTY" --show -o samples=all "$base"
grep -aq "θ mean" "$TMP/typescript" || fail "$(cat -v "$TMP/typescript")"
# The first reads are of the headers and of fingerprints.
at_line pread64:200 "comparing: $tensors" "$FAULTY" --diff -o samples=all "$other" "$base"
grep -aq "mean  all" "$TMP/typescript" || fail "$(cat -v "$TMP/typescript")"

# --unpack shows progress too, also for organ-dissect.
export ORGANFS=$FAULTY
at_line any:60 'scribe-Q4_K_M: [0-9]+ %' \
	"$here/../../mount-helpers/organ-dissect" "$base" "$TMP/parts"
exists "$TMP/parts/scribe-Q4_K_M/organs/blk_1_ffn_up.bin"
