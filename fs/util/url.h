/* SPDX-License-Identifier: MIT */
/* url.h - addresses of models: which text is one, what of it may be shown, and the names in it. */
#ifndef FS_UTIL_URL_H
#define FS_UTIL_URL_H

#include <stdbool.h>

/* Does the text begin with http:// or https://, in letters of either case? */
bool url_is_remote(const char *text);

/* Is it one of those, or an absolute path? Neither depends on a working directory. */
bool url_or_absolute_path(const char *text);

/* Does it begin with file:? */
bool url_is_file(const char *text);

/* The path on this machine that a file: URL names, to free: file:///PATH, file://localhost/PATH or
 * file:/PATH, in which %XX is decoded. NULL with errno: EINVAL it is none of these, or has a NUL in
 * it; ENOMEM. */
char *url_file_path(const char *url);

/* What may be shown and kept of a URL, to free: without user, password, query and fragment, which
 * may hold what grants access. NULL: out of memory. */
char *url_shown(const char *url);

/* Does it name a user, or a password? */
bool url_has_credentials(const char *url);

/* The last part of its path as the name of a file, to free: %XX is decoded, except where that is no
 * byte of a name. "model" where there is none. NULL: out of memory. */
char *url_file_name(const char *url);

/* Where the last part of its path ends: at a query, a fragment or the end of the text. Borrowed. */
const char *url_name_end(const char *url);

#endif
