/* SPDX-License-Identifier: MIT */
/* database.h - a connection to the SQLite database of a layer, with settings that make commits
 * durable, and with errors as errno values.
 *
 * Each commit syncs SQLite's write-ahead log (WAL), called the log below. locking_mode=EXCLUSIVE
 * keeps the index of the WAL in memory, so no file is mapped and any filesystem is suitable; the
 * lock on the layer's directory (layer.c) excludes other mounts. The database is untrusted:
 * functions and views in the schema are disabled, and each page is checked when it is read. A
 * connection must not be used in a child of fork(2). */
#ifndef FS_LAYER_DATABASE_H
#define FS_LAYER_DATABASE_H

#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

struct database; /* one thread at a time uses it */

enum database_access {
	DATABASE_WRITE,
	DATABASE_READ, /* for a file that no process writes */
	DATABASE_MAKE, /* make a new file with empty tables */
};

/* Open the file at that path. checks: first compare the schema with schema.sql and run
 * integrity_check, because SQLite could reuse a live page of a damaged database. NULL with err set:
 * EBADMSG not a layer's database, or damaged; ENOTSUP a later version of the format, whose log is
 * not written back; or an error of a system call. */
struct database *database_open(const char *path, enum database_access access, bool checks,
			       struct error *err);

/* Checkpoint the log, as far as the disk allows, and close both. NULL is fine. */
void database_close(struct database *database);

/* Run statements without parameters. Returns 0 or -errno. */
int database_exec(struct database *database, const char *sql);

/* Run a statement, whose text stays in place, with parameters. format has a letter for each: i an
 * int64_t; t a text or NULL; b bytes, as a pointer or NULL and a size_t. Returns 0 or -errno:
 * EINVAL a constraint of the schema is violated. */
int database_run(struct database *database, const char *sql, const char *format, ...);

/* Start a query; database_next() gets its rows. The same statement must not be run again before its
 * end or database_end(). NULL with *rc set. */
sqlite3_stmt *database_query(struct database *database, int *rc, const char *sql,
			     const char *format, ...);
sqlite3_stmt *database_vquery(struct database *database, int *rc, const char *sql,
			      const char *format, va_list args);

/* The number in a query's first row. Returns 1 with *number set, 0 without a row, or -errno. */
int database_number(struct database *database, int64_t *number, const char *sql, const char *format,
		    ...);

/* Step to the next row. Returns 1, 0 after the last, or -errno. database_end() has to follow. */
int database_next(struct database *database, sqlite3_stmt *query);
void database_end(sqlite3_stmt *query); /* NULL is fine */

/* Text in a column of the row, borrowed until the next row. NULL: no text, or it contains a NUL. */
const char *database_text(sqlite3_stmt *query, int column);

/* Is a transaction open? A disk error ends it. */
bool database_in_transaction(struct database *database);

/* Commit the open transaction. Returns 0, or -errno after a rollback. If the sync has failed, an
 * empty transaction overwrites this one in the log, as far as the disk takes writes;
 * *may_be_logged: the log may contain the commit record all the same. */
int database_commit(struct database *database, bool *may_be_logged);

/* Checkpoint, sync the database and empty the log. Afterwards the log contains neither failed
 * transactions nor pages whose sync has failed. Returns 0 or -errno. */
int database_empty_log(struct database *database);

#endif
