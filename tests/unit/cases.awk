# SPDX-License-Identifier: MIT
# Macros for UNIT_MAIN() of tests/unit/unit.h: the name and the cases of a test file. A case is a
# function that begins "static void NAME(void **state)"; a helper has another signature.
BEGIN {
	name = ARGV[1]
	gsub(/.*\/|\.c$/, "", name)
	printf "#define UNIT_NAME \"%s\"\n#define UNIT_CASES(setup, teardown) \\\n", name
}
/^static void [a-z0-9_]+\(void \*\*state\)$/ {
	name = substr($3, 1, index($3, "(") - 1)
	printf "\tcmocka_unit_test_setup_teardown(%s, setup, teardown), \\\n", name
	n++
}
/^static void ?[a-z0-9_]*\(?$/ {
	print FILENAME ":" FNR ": a case has its name and (void **state) in this line" > "/dev/stderr"
	exit failed = 1
}
END {
	if (failed)
		exit 1
	print ""
	if (!n) {
		print FILENAME ": no case" > "/dev/stderr"
		exit 1
	}
}
