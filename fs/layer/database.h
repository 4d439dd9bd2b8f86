/* SPDX-License-Identifier: MIT */
/* database.h - the SQLite database of a layer: one connection, with the settings that make a commit
 * durable, and errors as errno values.
 *
 * The journal is a WAL, synced at each commit. locking_mode=EXCLUSIVE keeps the index of the WAL in
 * memory, so that no file is mapped and any filesystem will do; against other mounts the layer's
 * directory is locked (layer.c). A database may come from anybody: functions and views in the
 * schema are not trusted, and each page is checked when it is read. A connection must not be used
 * in a child after fork(2). */
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
	DATABASE_READ, /* of a file that no process writes to */
	DATABASE_MAKE, /* a new one, with empty tables */
};

/* Open the file at that path. checks: compare the schema with schema.sql and run integrity_check
 * first, as SQLite could reuse a live page of a damaged database. NULL with err set: EBADMSG it is
 * no database of a layer, or damaged, ENOTSUP of another version of the format, or the errno of the
 * system call that failed. */
struct database *database_open(const char *path, enum database_access access, bool checks,
			       struct error *err);

/* Write the log back into the database, as far as the disk allows, and close both. NULL is fine. */
void database_close(struct database *database);

/* Run statements without parameters. Returns 0 or -errno. */
int database_exec(struct database *database, const char *sql);

/* Run a statement, a string that stays where it is, with its parameters. format has a letter for
 * each: i an int64_t; t a text, NULL for none; b bytes, as a pointer, NULL for none, and a size_t.
 * Returns 0 or -errno: EINVAL a row breaks a rule of the schema. */
int database_run(struct database *database, const char *sql, const char *format, ...);

/* The same for a query, of which database_next() gets the rows. Until the end, or database_end(),
 * sql is not run again. NULL with *rc set. */
sqlite3_stmt *database_query(struct database *database, int *rc, const char *sql,
			     const char *format, ...);
sqlite3_stmt *database_vquery(struct database *database, int *rc, const char *sql,
			      const char *format, va_list args);

/* The number that a query gives first: 1 with *number set, 0 without a row, or -errno. */
int database_number(struct database *database, int64_t *number, const char *sql, const char *format,
		    ...);

/* Step to the next row. Returns 1, 0 after the last row, or -errno. database_end() is due in each
 * case. */
int database_next(struct database *database, sqlite3_stmt *query);
void database_end(sqlite3_stmt *query); /* NULL is fine */

/* A column of the row: a text without NULs, borrowed until the next row; NULL: there is none, or it
 * holds a NUL. */
const char *database_text(sqlite3_stmt *query, int column);

/* Is a transaction open? An error of the disk ends it. */
bool database_in_transaction(struct database *database);

/* Commit the open transaction. Returns 0, or -errno: it is rolled back. When the sync has failed, a
 * covering transaction takes its place in the log, as far as the disk still takes writes;
 * *may_be_logged: the log may hold the end of the transaction all the same. */
int database_commit(struct database *database, bool *may_be_logged);

/* Write the log back into the database, sync the database and empty the log: after that neither a
 * transaction that was refused nor pages whose sync has failed are in the log. Returns 0 or
 * -errno. */
int database_empty_log(struct database *database);

#endif
