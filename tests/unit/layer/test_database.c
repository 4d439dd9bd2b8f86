/* SPDX-License-Identifier: MIT */
/* test_database.c - fs/layer/database.c: settings of a layer's database, parameters and errors. */
#include "fs/layer/database.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/temp_dir.h"

#include <signal.h>
#include <sys/resource.h>

static struct database *open_file(void **state, enum database_access access)
{
	struct error err = { 0 };
	struct database *database =
		database_open(in_temp(state, "layer.db").text, access, false, &err);

	if (!database)
		fail_msg("%s", err.text);
	return database;
}

static struct database *open_new(void **state)
{
	struct database *database = open_file(state, DATABASE_MAKE);

	must(database_exec(database, "CREATE TABLE t (i INTEGER PRIMARY KEY, t TEXT, b BLOB)") ==
	     0);
	must(database_exec(database,
			   "PRAGMA application_id = 0x4F524746; PRAGMA user_version = 2") == 0);
	return database;
}

static struct database *open_checked(void **state)
{
	struct error err = { 0 };
	struct database *database =
		database_open(in_temp(state, "layer.db").text, DATABASE_WRITE, true, &err);

	if (!database)
		fail_msg("%s", err.text);
	return database;
}

/* Make a database without organfs, in a file of that name. */
static void make_file(void **state, const char *name, const char *sql)
{
	sqlite3 *handle;

	must(sqlite3_open(in_temp(state, name).text, &handle) == SQLITE_OK);
	if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
	sqlite3_close(handle);
}

static int64_t count_rows(struct database *database)
{
	int rc;
	sqlite3_stmt *query = database_query(database, &rc, "SELECT count(*) FROM t", "");
	int64_t n;

	must(query && database_next(database, query) == 1);
	n = sqlite3_column_int64(query, 0);
	database_end(query);
	return n;
}

static void settings_make_each_commit_durable_and_distrust_the_schema(void **state)
{
	static const char *const settings[][2] = {
		{ "PRAGMA journal_mode", "wal" }, { "PRAGMA synchronous", "2" },
		{ "PRAGMA foreign_keys", "1" },	  { "PRAGMA locking_mode", "exclusive" },
		{ "PRAGMA trusted_schema", "0" }, { "PRAGMA cell_size_check", "1" },
	};
	struct database *database = open_new(state);

	for (size_t i = 0; i < ARRAY_LENGTH(settings); i++) {
		int rc;
		sqlite3_stmt *query = database_query(database, &rc, settings[i][0], "");

		must(query && database_next(database, query) == 1);
		assert_string_equal(database_text(query, 0), settings[i][1]);
		database_end(query);
	}
	database_close(database);
}

static void close_leaves_no_log(void **state)
{
	struct database *database = open_new(state);

	assert_true(exists(in_temp(state, "layer.db-wal").text));
	assert_false(exists(in_temp(state, "layer.db-shm").text));
	database_close(database);
	assert_false(exists(in_temp(state, "layer.db-wal").text));
	database_close(NULL);
}

static void parameters_of_all_kinds_come_back(void **state)
{
	struct database *database = open_new(state);
	sqlite3_stmt *query;
	int rc;

	assert_int_equal(database_run(database, "INSERT INTO t VALUES (?, ?, ?)", "itb", INT64_MIN,
				      "\xce\xb8", "a\0b", (size_t)3),
			 0);
	assert_int_equal(database_run(database, "INSERT INTO t VALUES (?, ?, ?)", "itb", INT64_MAX,
				      NULL, NULL, (size_t)0),
			 0);
	query = database_query(database, &rc, "SELECT i, t, b FROM t ORDER BY i", "");
	assert_int_equal(database_next(database, query), 1);
	assert_true(sqlite3_column_int64(query, 0) == INT64_MIN);
	assert_string_equal(database_text(query, 1), "\xce\xb8");
	assert_int_equal(sqlite3_column_bytes(query, 2), 3);
	assert_memory_equal(sqlite3_column_blob(query, 2), "a\0b", 3);
	/* The bytes hold a NUL. */
	assert_null(database_text(query, 2));
	assert_int_equal(database_next(database, query), 1);
	assert_true(sqlite3_column_int64(query, 0) == INT64_MAX);
	assert_null(database_text(query, 1));
	assert_int_equal(sqlite3_column_type(query, 2), SQLITE_NULL);
	assert_int_equal(database_next(database, query), 0);
	database_end(query);
	database_end(NULL);
	database_close(database);
}

static void broken_constraint_gives_einval_and_unknown_table_ebadmsg(void **state)
{
	static const struct {
		const char *sql;
		int rc;
	} cases[] = {
		{ "INSERT INTO u VALUES (1, 1)", 0 },
		{ "INSERT INTO u VALUES (1, 1)", -EINVAL },
		{ "INSERT INTO u VALUES (2, 'text')", -EINVAL },
		{ "INSERT INTO u VALUES (3, -1)", -EINVAL },
		{ "INSERT INTO u VALUES (4, NULL)", -EINVAL },
		{ "INSERT INTO u VALUES (5, 99)", -EINVAL },
		{ "INSERT INTO none VALUES (1)", -EBADMSG },
		{ "SELECT none FROM u", -EBADMSG },
	};
	struct database *database = open_new(state);

	must(database_exec(database,
			   "INSERT INTO t VALUES (1, 'x', NULL);"
			   "CREATE TABLE u (a INTEGER PRIMARY KEY,"
			   " b INTEGER NOT NULL CHECK (b > 0) REFERENCES t) STRICT") == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		/* Statements are cached by their address. */
		if (database_run(database, cases[i].sql, "") != cases[i].rc)
			fail_msg("%s", cases[i].sql);
		assert_false(database_in_transaction(database));
	}
	database_close(database);
}

static void path_with_characters_of_a_uri_is_the_file_of_that_name(void **state)
{
	static const char *const names[] = {
		"a%20b", "a?mode=ro", "a#b", "a b&c=d", "%", "\xce\xb8"
	};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		const struct path path = in_temp(state, names[i]);
		struct database *database = database_open(path.text, DATABASE_MAKE, false, NULL);

		assert_non_null(database);
		assert_int_equal(database_exec(database, "CREATE TABLE t (i)"), 0);
		database_close(database);
		assert_true(exists(path.text));
	}
}

static void assert_not_opened(void **state, const char *name, enum database_access access,
			      bool is_foreign, int code)
{
	struct error err = { 0 };

	assert_null(database_open(in_temp(state, name).text, access, is_foreign, &err));
	if (err.code != code)
		fail_msg("%s: %d, not %d: %s", name, err.code, code, err.text);
}

static void file_of_another_program_is_refused_and_unchanged(void **state)
{
	static const struct {
		const char *name, *sql;
		int code;
	} cases[] = {
		{ "no-id", "CREATE TABLE t (i)", EBADMSG },
		{ "other-id", "CREATE TABLE t (i); PRAGMA application_id = 7", EBADMSG },
		{ "later",
		  "CREATE TABLE t (i); PRAGMA application_id = 0x4F524746;"
		  "PRAGMA user_version = 3",
		  ENOTSUP },
		{ "text", NULL, EBADMSG },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct path path = in_temp(state, cases[i].name);
		char *before;
		size_t n;

		if (cases[i].sql)
			make_file(state, cases[i].name, cases[i].sql);
		else
			write_text(path.text,
				   "This text is longer than the 100 bytes of the header of "
				   "a database, and has nothing of one in it at all.");
		before = read_whole(path.text, &n);
		assert_not_opened(state, cases[i].name, DATABASE_WRITE, false, cases[i].code);
		assert_not_opened(state, cases[i].name, DATABASE_READ, true, cases[i].code);
		assert_file(path.text, before, n);
		free(before);
	}
}

static void path_that_leads_to_no_file_is_refused(void **state)
{
	assert_not_opened(state, "none", DATABASE_READ, false, ENOENT);
	assert_not_opened(state, "none/layer.db", DATABASE_WRITE, false, ENOENT);
	assert_false(exists(in_temp(state, "none").text));
	must(symlink("elsewhere", in_temp(state, "link").text) == 0);
	assert_null(database_open(in_temp(state, "link").text, DATABASE_WRITE, false, NULL));
	assert_false(exists(in_temp(state, "elsewhere").text));
}

static void damaged_page_is_found_when_all_pages_are_checked(void **state)
{
	struct database *database = open_file(state, DATABASE_MAKE);
	char page[4096];
	off_t pages;
	int fd;

	for (int64_t i = 0; i < 100; i++)
		must(database_run(database, "INSERT INTO key VALUES (?, 0, NULL, zeroblob(300), 0)",
				  "i", i) == 0);
	database_close(database);
	database_close(open_checked(state));
	memset(page, 0xa5, sizeof(page));
	fd = open(in_temp(state, "layer.db").text, O_RDWR);
	pages = lseek(fd, 0, SEEK_END) / (off_t)sizeof(page);
	/* The last page belongs to these rows. */
	must(pwrite(fd, page, sizeof(page), (pages - 1) * (off_t)sizeof(page)) > 0);
	close(fd);
	assert_not_opened(state, "layer.db", DATABASE_WRITE, true, EBADMSG);
	assert_not_opened(state, "layer.db", DATABASE_READ, true, EBADMSG);
	database = open_file(state, DATABASE_WRITE);
	assert_int_equal(database_run(database, "SELECT sum(length(text)) FROM key", ""), -EBADMSG);
	database_close(database);
}

static void trigger_of_a_foreign_schema_is_not_run(void **state)
{
	struct database *database = open_new(state);

	database_close(database);
	make_file(state, "layer.db", "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t; END");
	database = open_file(state, DATABASE_WRITE);
	assert_int_equal(database_run(database, "INSERT INTO t VALUES (1, 'x', NULL)", ""), 0);
	assert_int_equal(count_rows(database), 1);
	database_close(database);
}

static void database_that_is_only_read_refuses_changes(void **state)
{
	struct database *database = open_new(state);

	must(database_exec(database, "INSERT INTO t VALUES (1, 'x', NULL)") == 0);
	database_close(database);
	database = open_file(state, DATABASE_READ);
	assert_int_equal(count_rows(database), 1);
	assert_int_equal(database_run(database, "DELETE FROM t", ""), -EROFS);
	database_close(database);
	assert_int_equal(count_entries(in_temp(state, "").text), 2);
}

static int insert_large(struct database *database)
{
	return database_run(database, "INSERT INTO t VALUES (NULL, 'x', randomblob(300000))", "");
}

static void refused_write_gives_its_errno_and_changes_nothing(void **state)
{
	static const int codes[] = { ENOSPC, EDQUOT, EIO, EFBIG };
	struct database *database = open_new(state);
	int64_t n = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		database_writes_fail(codes[i], NULL);
		assert_int_equal(insert_large(database), -codes[i]);
		assert_true(database_write_failed());
		assert_false(database_in_transaction(database));
		database_close(database);
		database = open_file(state, DATABASE_WRITE);
		assert_int_equal(count_rows(database), n);
		assert_int_equal(insert_large(database), 0);
		assert_int_equal(count_rows(database), ++n);
	}
	database_close(database);
}

static void limit_on_the_size_of_files_gives_efbig(void **state)
{
	struct database *database = open_new(state);
	struct rlimit before, small;

	must(getrlimit(RLIMIT_FSIZE, &before) == 0);
	small = (struct rlimit){ .rlim_cur = 100000, .rlim_max = before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	must(setrlimit(RLIMIT_FSIZE, &small) == 0);
	assert_int_equal(insert_large(database), -EFBIG);
	must(setrlimit(RLIMIT_FSIZE, &before) == 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(insert_large(database), 0);
	database_close(database);
}

static void log_is_empty_once_it_was_written_back(void **state)
{
	struct database *database = open_new(state);
	struct stat log;

	must(insert_large(database) == 0);
	must(stat(in_temp(state, "layer.db-wal").text, &log) == 0);
	assert_true(log.st_size > 0);
	assert_int_equal(database_empty_log(database), 0);
	must(stat(in_temp(state, "layer.db-wal").text, &log) == 0);
	assert_int_equal(log.st_size, 0);
	database_close(database);
}

/* Each statement changes a database with the right tables. */
static void schema_that_is_not_ours_is_refused(void **state)
{
	static const char *const changes[] = {
		"CREATE TABLE t (i)",
		"CREATE UNIQUE INDEX x ON slot (kind)",
		"CREATE TRIGGER x AFTER INSERT ON slot BEGIN DELETE FROM slot; END",
		"CREATE VIEW x AS SELECT * FROM slot",
		"DROP INDEX slot_blob",
		"DROP TABLE merge",
		"ALTER TABLE key ADD COLUMN more TEXT",
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, "
		"'STRICT', '')",
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, "
		"'CHECK (one = 1)', 'CHECK (length(hex(zeroblob(200000000))) > 1)')",
		"ANALYZE",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(changes); i++) {
		database_close(open_file(state, DATABASE_MAKE));
		database_close(open_checked(state));
		make_file(state, "layer.db", changes[i]);
		assert_not_opened(state, "layer.db", DATABASE_WRITE, true, EBADMSG);
		assert_not_opened(state, "layer.db", DATABASE_READ, true, EBADMSG);
		must(unlink(in_temp(state, "layer.db").text) == 0);
	}
}

static void database_of_another_encoding_is_refused(void **state)
{
	struct database *database;

	make_file(state, "layer.db",
		  "PRAGMA encoding = 'UTF-16be'; CREATE TABLE t (i); DROP TABLE t");
	database = database_open(in_temp(state, "layer.db").text, DATABASE_MAKE, false, NULL);
	assert_non_null(database);
	database_close(database);
	assert_not_opened(state, "layer.db", DATABASE_WRITE, true, EBADMSG);
}

static void without_memory_nothing_is_opened(void **state)
{
	struct error err;

	needs_failing_allocations();
	database_close(open_file(state, DATABASE_MAKE));
	for (uint64_t k = 1;; k++) {
		struct database *database;

		err = (struct error){ 0 };
		allocation_fails(k);
		database =
			database_open(in_temp(state, "layer.db").text, DATABASE_WRITE, true, &err);
		if (!allocation_failed()) {
			assert_non_null(database);
			database_close(database);
			break;
		}
		assert_null(database);
		assert_int_equal(err.code, ENOMEM);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
