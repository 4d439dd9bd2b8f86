/* SPDX-License-Identifier: MIT */
/* mount_table.c - see mount_table.h. poll() of /proc/self/mountinfo reports each change of the
 * table once (proc(5)). It is called before the reading, so that the next call reports a change
 * meanwhile. */
#include "fs/paths/mount_table.h"
#include "fs/util/array_grown.h"
#include "fs/util/mountinfo.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct mount_table {
	pthread_mutex_t lock; /* protects the fields below */
	FILE *file;	      /* NULL: not open yet */
	bool is_read;
	struct mount_entry *entries;
	size_t n, room;
};

struct mount_table *mount_table_new(void)
{
	struct mount_table *table = calloc(1, sizeof(*table));

	if (table)
		pthread_mutex_init(&table->lock, NULL);
	return table;
}

void mount_table_free(struct mount_table *table)
{
	if (!table)
		return;
	if (table->file)
		fclose(table->file);
	pthread_mutex_destroy(&table->lock);
	free(table->entries);
	free(table);
}

static bool add(struct mount_table *table, const struct mountinfo *mount)
{
	struct mount_entry *entries =
		array_grown(table->entries, table->n, &table->room, sizeof(*entries));

	if (!entries)
		return false;
	table->entries = entries;
	table->entries[table->n++] = (struct mount_entry){
		mount->id,
		mount->device,
		mount->is_organfs,
		mount->is_local,
	};
	return true;
}

/* Call with the lock held, as the functions below. */
static bool has_changed(struct mount_table *table)
{
	struct pollfd poll_fd = { .fd = fileno(table->file), .events = POLLPRI };

	return poll(&poll_fd, 1, 0) != 0;
}

static bool read_all(struct mount_table *table)
{
	struct mountinfo mount;
	char *line = NULL;
	size_t room = 0;
	bool fits = true;

	table->n = 0;
	rewind(table->file);
	while (fits && getline(&line, &room, table->file) > 0)
		fits = !mountinfo_parse(line, &mount) || add(table, &mount);
	free(line);
	return fits && feof(table->file);
}

static bool refresh(struct mount_table *table)
{
	if (!table->file)
		table->file = fopen("/proc/self/mountinfo", "re");
	if (!table->file)
		return false;
	if (has_changed(table))
		table->is_read = false;
	if (!table->is_read)
		table->is_read = read_all(table);
	return table->is_read;
}

bool mount_table_find(struct mount_table *table, int id, struct mount_entry *found)
{
	*found = (struct mount_entry){ .id = -1 };
	pthread_mutex_lock(&table->lock);
	if (refresh(table))
		for (size_t i = 0; i < table->n && found->id < 0; i++)
			if (table->entries[i].id == id)
				*found = table->entries[i];
	pthread_mutex_unlock(&table->lock);
	return found->id >= 0;
}
