# SPDX-License-Identifier: MIT
# debian-tests.sh ARCHIVE - the tests of ARCHIVE, in the system of tests/debian, which sources this
# file: the tests of functions that depend most on the release, or all of them for the part "all".
# Prints a line for the release: the number of passed tests, and the skipped ones with reasons.

# mount(8), umount(8), HTTP, extended attributes, and optional features of libfuse and
# the kernel. These tests need the packages that install-deps calls "check".
tests='mount/ passthrough/read serve/files serve/copy serve/limits serve/shared tree/xattrs
	check/remount edit/two-mounts unmount/user manuals/demo'
failed=

# part_of USER COMMAND: run a part; after its failure the other parts run all the same.
part_of() {
	try "$@" || failed="${failed:+$failed, }$2"
}

# Run a command of README.md; print the new user's waiting time and the size of the downloads.
new_user() {
	local seconds=$SECONDS lines fetched
	lines=$(wc -l <"$log")
	readme_says "$1"
	as user "cd organfs-*/ && $1"
	# The messages of apt 2 and apt 3.
	fetched=$(tail -n "+$lines" "$log" | sed -n -e 's/^Need to get \(.*\) of archives.*/\1/p' \
		-e 's/^ *Download size: *\([^/]*\).*/\1/p')
	echo "$release: $1: $((SECONDS - seconds)) s, ${fetched:-nothing} fetched"
}

no_warnings() {
	grep -E '^[^ ]+\.[ch]:([0-9]+:)+ warning:|ld(\.[a-z]+)?: warning:' "$log" \
		>"$work/warnings" || return 0
	failed="${failed:+$failed, }$(wc -l <"$work/warnings") warnings of the compiler"
}

# Print the counts of unit tests and mount tests from the log, with details of each failure.
matrix() {
	awk -v name="$suite" '
		function row(what) {
			return what " " n[what, "ok"] + 0 " passed, " n[what, "FAIL"] + 0 \
				" failed, " n[what, "skip"] + 0 " skipped, " \
				n[what, "late"] + 0 " late"
		}
		function line() {
			if (n["unit", "PASSED"] + n["unit", "FAILED"])
				unit = "unit " n["unit", "PASSED"] + 0 " passed, " \
					n["unit", "FAILED"] + 0 " failed; "
			print name ": " unit row("mount") "; of these " row("HTTP") "; " \
				row("mount(8)")
			printf "%s", reasons
			reasons = ""
			split("", n)
			split("", seen)
		}
		/^\[  (PASSED|FAILED)  \] [^0-9]*[0-9]+ test/ {
			match($0, /[0-9]+ test/)
			n["unit", $2] += substr($0, RSTART) + 0
			next
		}
		/^\[ +(ERROR|LINE) +\]/ || told && /^      / {
			reasons = reasons "  " $0 "\n"
			next
		}
		/^\[  FAILED  \] [a-z_]+$/ && !seen[$4]++ {
			reasons = reasons "  FAIL  " $4 "\n"
		}
		/^(ok   |skip |FAIL |late ) [a-z0-9-]+\/[a-z0-9-]+( \(.*\))?$/ {
			n["mount", $1]++
			if ($2 ~ /^serve\/|\/served$/)
				n["HTTP", $1]++
			if ($2 ~ /^(un)?mount\//)
				n["mount(8)", $1]++
			told = $1 == "FAIL" || $1 == "late"
			if ($1 != "ok")
				reasons = reasons "  " $0 "\n"
		}
		/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ {
			line()
		}' "$log"
}

cp "$1" "$system/home/user/"
as user 'tar xf organfs-*.tar.gz'
new_user 'sudo apt install make'
new_user 'sudo make demo'
if [ "$part" = all ]; then
	readme_says 'sudo make check'
	part_of user 'cd organfs-*/ && sudo make check'
else
	as user 'cd organfs-*/ && sudo tests/install-deps check'
	part_of user "cd organfs-*/ && make -j$(nproc) mount-tools"
	skips=${EXPECTED_SKIPS:+EXPECTED_SKIPS=tests/mount/expected-skips}
	part_of user "cd organfs-*/ && sudo $skips make check-mount T='$tests'"
fi
no_warnings
matrix
[ -z "$failed" ] || fail "failed: $failed"
echo "$release: $part: everything passed that could be run ($SECONDS s)"
