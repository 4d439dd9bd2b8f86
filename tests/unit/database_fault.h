/* SPDX-License-Identifier: MIT */
/* database_fault.h - a disk that refuses writes of SQLite. libsqlite3 is not linked with the
 * wrapped calls of unit.h; its VFS lets a test replace them. */
#ifndef TESTS_UNIT_DATABASE_FAULT_H
#define TESTS_UNIT_DATABASE_FAULT_H

#include <stdbool.h>

/* Every write of SQLite's fails with that errno value from now on, as long as there is a file at
 * path; path NULL: always. It is borrowed. */
void database_writes_fail(int code, const char *path);

/* Every sync of its files, and of ours by the same call, fails so; 0: none does. */
void database_syncs_fail(int code);

/* The same, and so does every write of SQLite's after the first one that failed. */
void database_fails_from_sync(int code);

/* Has one failed? From here on none does. */
bool database_write_failed(void);

#endif
