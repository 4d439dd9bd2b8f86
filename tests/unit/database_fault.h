/* SPDX-License-Identifier: MIT */
/* database_fault.h - a disk that refuses writes of SQLite. libsqlite3 is not linked with the
 * wrapped calls of unit.h; its VFS lets a test replace them. */
#ifndef TESTS_UNIT_DATABASE_FAULT_H
#define TESTS_UNIT_DATABASE_FAULT_H

#include <stdbool.h>

/* From now on every write by SQLite fails with that errno value while a file exists at path; path
 * NULL: always. The caller keeps path alive. */
void database_writes_fail(int code, const char *path);

/* Every fdatasync(), by SQLite and by the tested code, fails with code; 0: none fails. */
void database_syncs_fail(int code);

/* Fail syncs as above, and every write by SQLite after the first failed sync. */
void database_fails_from_sync(int code);

/* Has a write or sync failed? From here on none fails. */
bool database_write_failed(void);

#endif
