# SPDX-License-Identifier: MIT
# The cases of a test file, as the macro that UNIT_MAIN() of tests/unit/unit.h runs: each function
# that begins "static void NAME(void **state)". A helper has another signature.
BEGIN { print "#define UNIT_CASES(setup, teardown) \\" }
/^static void [a-z0-9_]+\(void \*\*state\)$/ {
	name = substr($3, 1, index($3, "(") - 1)
	printf "\tcmocka_unit_test_setup_teardown(%s, setup, teardown), \\\n", name
	n++
}
END {
	print ""
	if (!n) {
		print FILENAME ": no case" > "/dev/stderr"
		exit 1
	}
}
