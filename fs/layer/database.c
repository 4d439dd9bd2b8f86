/* SPDX-License-Identifier: MIT */
/* database.c - see database.h. */
#include "fs/layer/database.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPLICATION_ID	     0x4F524746 /* 'ORGF' */
#define USER_VERSION	     2
#define TEXT_OF(macro)	     TEXT_OF_TOKEN(macro)
#define TEXT_OF_TOKEN(token) #token

/* cached statements; the room has fewer */
#define STATEMENTS_MOST 48

static const char schema[] =
#include "fs/layer/layer_schema.inc" /* made from schema.sql */
	;

/* number of its tables and indices */
#define SCHEMA_ITEMS 9

struct database {
	sqlite3 *handle;
	size_t n;
	struct {
		const char *sql; /* compared by address */
		sqlite3_stmt *statement;
	} kept[STATEMENTS_MOST];
};

/* The open log, or NULL. */
static sqlite3_file *log_of(struct database *database)
{
	sqlite3_file *log = NULL;

	sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	return log && log->pMethods ? log : NULL;
}

/* The errno of the last failed system call on the database or its log, since errno may have changed
 * meanwhile; 0: none has failed. */
static int system_errno(struct database *database)
{
	sqlite3_file *log = log_of(database);
	int code = 0;

	if (log)
		log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &code);
	if (!code)
		sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_LAST_ERRNO, &code);
	return code ? code : sqlite3_system_errno(database->handle);
}

static int error_of(struct database *database, int code)
{
	int of_system;

	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
		return -EBADMSG;
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
		return -EINVAL;
	case SQLITE_TOOBIG:
		return -EFBIG;
	case SQLITE_ERROR:
		return -EBADMSG;
	default:
		of_system = system_errno(database);
		return of_system ? -of_system : (code & 0xff) == SQLITE_CANTOPEN ? -ENOENT : -EIO;
	}
}

static int set_error(struct database *database, int rc, struct error *err)
{
	return error_set(err, -rc, ERROR_NO_OFFSET, "layer.db: %s",
			 rc == -EBADMSG ? sqlite3_errmsg(database->handle) : strerror(-rc));
}

/* The path as a URI, which can carry parameters. */
static char *uri_of(const char *path, enum database_access access)
{
	char *uri = malloc(3 * strlen(path) + 64), *out = uri;

	if (!uri)
		return NULL;
	out += sprintf(out, "file:");
	for (; *path; path++)
		if (strchr("%?#", *path))
			out += sprintf(out, "%%%02x", (unsigned char)*path);
		else
			*out++ = *path;
	strcpy(out, access == DATABASE_READ ? "?immutable=1" : "");
	return uri;
}

int database_exec(struct database *database, const char *sql)
{
	return error_of(database, sqlite3_exec(database->handle, sql, NULL, NULL, NULL));
}

static int configure(struct database *database)
{
	static const int off[] = { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
				   SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
				   SQLITE_DBCONFIG_ENABLE_VIEW };
	static const int on[] = { SQLITE_DBCONFIG_ENABLE_FKEY, SQLITE_DBCONFIG_DEFENSIVE };

	sqlite3_extended_result_codes(database->handle, 1);
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		sqlite3_db_config(database->handle, off[i], 0, NULL);
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++)
		sqlite3_db_config(database->handle, on[i], 1, NULL);
	return sqlite3_exec(database->handle,
			    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cell_size_check = ON;"
			    "PRAGMA temp_store = MEMORY; PRAGMA synchronous = FULL;"
			    "PRAGMA secure_delete = OFF;"
			    "PRAGMA journal_size_limit = 4194304",
			    NULL, NULL, NULL);
}

/* Keep the log, which a close of the database otherwise writes back and removes. */
static void keep_log(struct database *database)
{
	sqlite3_file *log = log_of(database);
	sqlite3_int64 size = 0;

	/* The close removes an empty log, which SQLite itself has made. */
	if (log && log->pMethods->xFileSize(log, &size) == SQLITE_OK && size > 0)
		sqlite3_db_config(database->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static int check_form(struct database *database, struct error *err)
{
	int64_t id, version;
	int rc = database_number(database, &id, "PRAGMA application_id", "");

	if (rc >= 0)
		rc = database_number(database, &version, "PRAGMA user_version", "");
	if (rc < 0)
		return set_error(database, rc, err);
	if (id != APPLICATION_ID || version < USER_VERSION)
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "layer.db is not the database of a layer");
	if (version == USER_VERSION)
		return 0;
	keep_log(database);
	return error_set(
		err, ENOTSUP, ERROR_NO_OFFSET,
		"this layer has format version %lld, and this organfs knows only %d: mount "
		"it with a newer organfs",
		(long long)version, USER_VERSION);
}

/* Is the schema, word for word, schema.sql? Another one may have constraints that never end,
 * computed columns, or an encoding with another order of texts. */
static int check_schema(struct database *database, struct error *err)
{
	int64_t is_ours = 0;
	int rc = database_number(
		database, &is_ours,
		"SELECT count(*) = ?2 AND min(instr(?1, sql || ';')) > 0 AND"
		" (SELECT encoding FROM pragma_encoding) = 'UTF-8' FROM sqlite_schema",
		"ti", schema, (int64_t)SCHEMA_ITEMS);

	if (rc >= 0 && !is_ours)
		rc = -EBADMSG;
	return rc < 0 ? error_set(err, -rc, ERROR_NO_OFFSET, "%s",
				  rc == -EBADMSG ? "the tables of layer.db are not those of a layer"
						 : strerror(-rc))
		      : 0;
}

static int check_whole(struct database *database, struct error *err)
{
	int rc = check_schema(database, err);
	sqlite3_stmt *query = NULL;
	const char *says = NULL;

	if (rc < 0)
		return rc;
	query = database_query(database, &rc, "PRAGMA integrity_check(1)", "");
	if (query)
		rc = database_next(database, query);
	if (rc > 0)
		says = database_text(query, 0);
	if (rc > 0 && says && strcmp(says, "ok") == 0)
		rc = 0;
	else
		rc = error_set(err, rc < 0 ? -rc : EBADMSG, ERROR_NO_OFFSET,
			       "layer.db is damaged: %.200s",
			       rc < 0 ? strerror(-rc)
			       : says ? says
				      : "integrity_check failed to run");
	database_end(query);
	return rc;
}

static int make_tables(struct database *database)
{
	int rc = database_exec(database, "BEGIN IMMEDIATE");

	if (rc == 0)
		rc = database_exec(database, schema);
	return rc == 0 ? database_exec(database, "COMMIT") : rc;
}

static int open_handle(struct database *database, const char *path, enum database_access access,
		       struct error *err)
{
	char *uri = uri_of(path, access);
	const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
			  (access == DATABASE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
			  (access == DATABASE_MAKE ? SQLITE_OPEN_CREATE : 0);
	int code;

	if (!uri)
		return error_errno(err, ENOMEM);
	code = sqlite3_open_v2(uri, &database->handle, flags, NULL);
	free(uri);
	if (!database->handle)
		return error_errno(err, ENOMEM);
	/* SQLite opens a file of a read-only disk for reading. */
	if (code == SQLITE_OK && access != DATABASE_READ &&
	    sqlite3_db_readonly(database->handle, "main") > 0)
		code = SQLITE_READONLY;
	if (code == SQLITE_OK)
		code = configure(database);
	return code == SQLITE_OK ? 0 : set_error(database, error_of(database, code), err);
}

struct database *database_open(const char *path, enum database_access access, bool checks,
			       struct error *err)
{
	struct database *database = calloc(1, sizeof(*database));
	int rc;

	if (!database) {
		error_errno(err, ENOMEM);
		return NULL;
	}
	rc = open_handle(database, path, access, err);
	if (rc == 0 && access != DATABASE_MAKE)
		rc = check_form(database, err);
	if (rc == 0 && checks)
		rc = check_whole(database, err);
	if (rc == 0 && access != DATABASE_READ) {
		rc = database_exec(database, "PRAGMA journal_mode = WAL");
		if (rc == 0 && access == DATABASE_MAKE)
			rc = make_tables(database);
		if (rc < 0)
			rc = set_error(database, rc, err);
	}
	if (rc == 0)
		return database;
	database_close(database);
	return NULL;
}

void database_close(struct database *database)
{
	if (!database)
		return;
	for (size_t i = 0; i < database->n; i++)
		sqlite3_finalize(database->kept[i].statement);
	sqlite3_close(database->handle);
	free(database);
}

/* Prepare the statement, or take it from the cache. */
static sqlite3_stmt *prepare(struct database *database, const char *sql, int *rc)
{
	sqlite3_stmt *statement = NULL;
	int code;

	*rc = 0;
	for (size_t i = 0; i < database->n; i++)
		if (database->kept[i].sql == sql)
			return database->kept[i].statement;
	code = database->n < STATEMENTS_MOST
		       ? sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
					    &statement, NULL)
		       : SQLITE_NOMEM;
	if (code != SQLITE_OK) {
		/* A table or column is missing, so the schema is not a layer's. */
		*rc = code == SQLITE_ERROR ? -EBADMSG : error_of(database, code);
		return NULL;
	}
	database->kept[database->n].sql = sql;
	database->kept[database->n++].statement = statement;
	return statement;
}

static int bind(struct database *database, sqlite3_stmt *statement, const char *format,
		va_list args)
{
	int code = SQLITE_OK;

	for (int i = 1; code == SQLITE_OK && *format; i++, format++) {
		if (*format == 'i') {
			code = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
		} else if (*format == 't') {
			code = sqlite3_bind_text(statement, i, va_arg(args, const char *), -1,
						 SQLITE_STATIC);
		} else {
			const void *bytes = va_arg(args, const void *);
			const size_t n = va_arg(args, size_t);

			code = sqlite3_bind_blob64(statement, i, bytes, n, SQLITE_STATIC);
		}
	}
	return error_of(database, code);
}

void database_end(sqlite3_stmt *query)
{
	if (!query)
		return;
	sqlite3_reset(query);
	sqlite3_clear_bindings(query);
}

int database_next(struct database *database, sqlite3_stmt *query)
{
	const int code = sqlite3_step(query);

	return code == SQLITE_ROW ? 1 : error_of(database, code);
}

int database_run(struct database *database, const char *sql, const char *format, ...)
{
	va_list args;
	int rc;
	sqlite3_stmt *statement = prepare(database, sql, &rc);

	if (!statement)
		return rc;
	va_start(args, format);
	rc = bind(database, statement, format, args);
	va_end(args);
	if (rc == 0)
		rc = database_next(database, statement);
	database_end(statement);
	return rc < 0 ? rc : 0;
}

sqlite3_stmt *database_vquery(struct database *database, int *rc, const char *sql,
			      const char *format, va_list args)
{
	sqlite3_stmt *query = prepare(database, sql, rc);

	if (!query)
		return NULL;
	*rc = bind(database, query, format, args);
	if (*rc == 0)
		return query;
	database_end(query);
	return NULL;
}

sqlite3_stmt *database_query(struct database *database, int *rc, const char *sql,
			     const char *format, ...)
{
	va_list args;
	sqlite3_stmt *query;

	va_start(args, format);
	query = database_vquery(database, rc, sql, format, args);
	va_end(args);
	return query;
}

int database_number(struct database *database, int64_t *number, const char *sql, const char *format,
		    ...)
{
	va_list args;
	sqlite3_stmt *query;
	int rc;

	va_start(args, format);
	query = database_vquery(database, &rc, sql, format, args);
	va_end(args);
	if (query)
		rc = database_next(database, query);
	*number = rc > 0 ? sqlite3_column_int64(query, 0) : 0;
	database_end(query);
	return rc;
}

const char *database_text(sqlite3_stmt *query, int column)
{
	const char *text = (const char *)sqlite3_column_text(query, column);

	return text && strlen(text) == (size_t)sqlite3_column_bytes(query, column) ? text : NULL;
}

bool database_in_transaction(struct database *database)
{
	return !sqlite3_get_autocommit(database->handle);
}

int database_commit(struct database *database, bool *may_be_logged)
{
	const int code = sqlite3_exec(database->handle, "COMMIT", NULL, NULL, NULL);
	const int rc = error_of(database, code);

	/* SQLITE_FULL comes from a write before the commit record; a failed sync comes after it. */
	*may_be_logged = rc < 0 && (code & 0xff) != SQLITE_FULL;
	if (rc == 0)
		return 0;
	if (database_in_transaction(database))
		database_exec(database, "ROLLBACK");
	/* After a failed sync the log contains the whole transaction. This statement overwrites it,
	 * so that nobody who opens the database finds it committed. */
	database_exec(database, "PRAGMA user_version = " TEXT_OF(USER_VERSION));
	return rc;
}

int database_empty_log(struct database *database)
{
	return error_of(database,
			sqlite3_wal_checkpoint_v2(database->handle, NULL,
						  SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
}
