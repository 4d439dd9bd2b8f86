/* SPDX-License-Identifier: MIT */
/* listed_mount.c - see listed_mount.h. */
#include "fs/commands/listed_mount.h"
#include "fs/metadata/json_value.h"
#include "fs/util/mountinfo.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

/* Most bytes of an answer; the sender is not trusted to keep to UNMOUNT_FORECAST_MAX. */
#define ANSWER_MAX (PATH_MAX + 256)

/* Put an attribute of the root behind a blank, as an answer; it is empty if the daemon is too old
 * to have the attribute. Returns 0 or an error number. */
static int get_attribute(const char *name, char text[ANSWER_MAX])
{
	const ssize_t n = getxattr(".", name, text + 1, ANSWER_MAX - 2);

	text[0] = ' ';
	text[n > 0 ? n + 1 : 1] = '\0';
	return n >= 0 || errno == ENODATA ? 0 : errno;
}

/* The process of "PID FD NAME" if this user may signal it, else 0. */
static unsigned daemon_of(const char *text)
{
	const size_t n = strspn(text, "0123456789");
	const unsigned pid = n && n <= 9 && text[n] == ' ' ? (unsigned)strtoul(text, NULL, 10) : 0;

	return pid && kill((pid_t)pid, 0) == 0 ? pid : 0;
}

/* The first answer needs no disk, so a daemon whose disks hang still gives its pid. */
static int ask(int socket, const void *context)
{
	char text[ANSWER_MAX];
	int rc = get_attribute("user.organfs.daemon", text);

	(void)context;
	if (rc == 0) {
		snprintf(text, sizeof(text), "%u", daemon_of(text + 1));
		rc = mount_child_send(socket, text, strlen(text), -1);
	}
	if (rc == 0)
		rc = get_attribute("user.organfs.unmount", text);
	return rc ? rc : mount_child_send(socket, text, strlen(text), -1);
}

void listed_mount_begin(struct listed_mount *listed, const struct mountinfo *mount,
			int64_t patience)
{
	*listed = (struct listed_mount){ .mount = mount };
	mount_child_begin(&listed->child, mount, patience, ask, NULL);
}

bool listed_change_parse(const char *text, struct listed_change *change)
{
	int n = -1;

	*change = (struct listed_change){ 0 };
	if (sscanf(text, "models=%9u grafts=%9u adapters=%9u merges=%9u files=%9u bytes=%18llu%n",
		   &change->models, &change->grafts, &change->adapters, &change->merges,
		   &change->files, &change->bytes, &n) != 6 ||
	    strcspn(text, "-") < (size_t)n)
		return false;
	text += n;
	if (!change->files)
		return *text == '\0';
	if (strncmp(text, " path=/", 7) != 0 || strlen(text + 6) >= sizeof(change->path))
		return false;
	strcpy(change->path, text + 6);
	return true;
}

/* Receive the next answer as text. Returns false if there is none. */
static bool receive(struct listed_mount *listed, char text[ANSWER_MAX])
{
	const ssize_t n = mount_child_receive(&listed->child, text, ANSWER_MAX - 1, NULL);

	if (n < 1)
		return false;
	text[n] = '\0';
	return true;
}

void listed_mount_finish(struct listed_mount *listed)
{
	char text[ANSWER_MAX];
	int rc;

	if (receive(listed, text)) {
		listed->pid = (unsigned)strtoul(text, NULL, 10);
		listed->has_change =
			receive(listed, text) && listed_change_parse(text + 1, &listed->change);
	}
	rc = mount_child_end(&listed->child);
	listed->state = rc == 0			  ? LISTED_OK
			: mount_child_is_dead(rc) ? LISTED_DEAD
			: rc == ETIMEDOUT	  ? LISTED_BUSY
						  : LISTED_CLOSED;
}

static const char *state_word(const struct listed_mount *listed)
{
	static const char *const words[] = {
		[LISTED_OK] = "ok",
		[LISTED_DEAD] = "dead",
		[LISTED_BUSY] = "busy",
		[LISTED_CLOSED] = "closed",
	};

	return words[listed->state];
}

const char *const listed_titles[LISTED_COLUMNS] = {
	"MOUNTPOINT", "STATE", "PID", "GRAFTS", "ADAPTERS", "MERGES", "BASE", "UNMOUNT WRITES"
};

static char *base_cell(const struct listed_mount *listed)
{
	const char *source = listed->mount->source;
	char *text;
	const int n = listed->change.models > 1
			      ? asprintf(&text, "%s (%u models)", source, listed->change.models)
			      : asprintf(&text, "%s", source);

	return n < 0 ? NULL : text;
}

static char *writes_cell(const struct listed_change *change)
{
	char more[32] = "", size[48] = "size unknown";
	char *text;

	if (!change->files)
		return strdup("-");
	if (change->files > 1)
		snprintf(more, sizeof(more), " and %u more", change->files - 1);
	if (change->bytes)
		snprintf(size, sizeof(size), "%llu bytes", change->bytes);
	return asprintf(&text, "%s%s (%s)", change->path, more, size) < 0 ? NULL : text;
}

static char *number_cell(bool is_known, unsigned number)
{
	char *text;

	if (!is_known)
		return strdup("-");
	return asprintf(&text, "%u", number) < 0 ? NULL : text;
}

char *listed_mount_cell(const struct listed_mount *listed, size_t column)
{
	const struct listed_change *change = &listed->change;

	switch (column) {
	case 0:
		return strdup(listed->mount->point);
	case 1:
		return strdup(state_word(listed));
	case 2:
		return number_cell(listed->pid, listed->pid);
	case 3:
		return number_cell(listed->has_change, change->grafts);
	case 4:
		return number_cell(listed->has_change, change->adapters);
	case 5:
		return number_cell(listed->has_change, change->merges);
	case 6:
		return base_cell(listed);
	default:
		return writes_cell(change);
	}
}

static void add_number(cJSON *object, const char *name, bool is_known, uint64_t number)
{
	if (is_known)
		json_add_unsigned(object, name, number);
	else
		cJSON_AddNullToObject(object, name);
}

static void add_text(cJSON *object, const char *name, const char *text)
{
	cJSON_AddItemToObject(object, name, json_text(text, strlen(text)));
}

cJSON *listed_mount_json(const struct listed_mount *listed)
{
	const struct listed_change *change = &listed->change;
	const bool known = listed->has_change;
	cJSON *object = cJSON_CreateObject(), *unmount;

	add_text(object, "mountpoint", listed->mount->point);
	add_text(object, "state", state_word(listed));
	add_number(object, "pid", listed->pid, listed->pid);
	add_text(object, "base", listed->mount->source);
	add_number(object, "models", known, change->models);
	add_number(object, "grafts", known, change->grafts);
	add_number(object, "adapters", known, change->adapters);
	add_number(object, "merges", known, change->merges);
	if (!change->files) {
		cJSON_AddNullToObject(object, "unmount");
		return object;
	}
	unmount = cJSON_AddObjectToObject(object, "unmount");
	add_text(unmount, "file", change->path);
	json_add_unsigned(unmount, "files", change->files);
	add_number(unmount, "bytes", change->bytes, change->bytes);
	return object;
}
