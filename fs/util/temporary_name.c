/* SPDX-License-Identifier: MIT */
/* temporary_name.c - see temporary_name.h. */
#include "fs/util/temporary_name.h"

#include <string.h>

static bool has_ending(const char *name, size_t n)
{
	static const char *const endings[] = { ".bak",	   ".new", ".old", ".orig", ".part",
					       ".partial", ".rej", ".swp", ".swx",  ".tmp" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const size_t length = strlen(endings[i]);

		if (n > length && strcmp(name + n - length, endings[i]) == 0)
			return true;
	}
	return false;
}

bool temporary_name(const char *name)
{
	const size_t n = strlen(name);

	if (name[0] == '.' || strpbrk(name, "~#") || strspn(name, "0123456789") == n)
		return true;
	if (n == 9 && strncmp(name, "sed", 3) == 0 && !strpbrk(name, "._"))
		return true;
	return has_ending(name, n);
}

size_t temporary_name_of_rsync(const char *name)
{
	const size_t n = strlen(name);

	return name[0] == '.' && n > 8 && name[n - 7] == '.' ? n - 8 : 0;
}

bool temporary_name_of_ln(const char *name)
{
	return strlen(name) == 8 && strncmp(name, "Cu", 2) == 0 && !strpbrk(name, "._");
}
