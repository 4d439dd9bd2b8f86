# SPDX-License-Identifier: MIT
# lib.sh - functions for tests of .check. Sourced after ../lib.sh.

# verdict CHECK [TITLE]: verdicts of the lines of a check.
verdict() {
	awk -F '\t' -v check="$1" -v title="${2-}" \
		'$2 == check && (title == "" || index($3, title ": ") == 1) { print $1 }' \
		"$MNT/.check"
}

# says VERDICT CHECK PATTERN [TITLE]: check a line.
says() {
	equal "$(verdict "$2" "${4-}")" "$1" "$2 of $(cat "$MNT/.check")"
	awk -F '\t' -v check="$2" '$2 == check { print $3 }' "$MNT/.check" | grep -Eq -- "$3" ||
		fail "$2: $(grep "	$2	" "$MNT/.check")"
}
