/* SPDX-License-Identifier: MIT */
/* url.h - addresses of models: recognition of URLs, their parts that may be shown, file names. */
#ifndef FS_UTIL_URL_H
#define FS_UTIL_URL_H

#include <stdbool.h>

/* Does the text begin with http:// or https://, in upper or lower case? */
bool url_is_remote(const char *text);

/* Is it an http or https URL or an absolute path? Neither depends on the working directory. */
bool url_or_absolute_path(const char *text);

/* Does it begin with file:? */
bool url_is_file(const char *text);

/* Does it begin with ollama:, hf: or lmstudio:, as names of models in the stores of those programs
 * do (fs/base/model_name.h)? */
bool url_is_store(const char *text);

/* The local path of file:///PATH, file://localhost/PATH or file:/PATH, with %XX decoded; to free.
 * NULL with errno set: EINVAL if the URL has another form or contains %00, or ENOMEM. */
char *url_file_path(const char *url);

/* The URL without user, password, query and fragment, which may grant access; to free. The result
 * may be shown and stored. NULL: out of memory. */
char *url_shown(const char *url);

/* Does the URL contain a user or a password? */
bool url_has_credentials(const char *url);

/* The last part of the URL's path, as a file name, to free. %XX is decoded, except for '/' and NUL.
 * "model" if the result is no valid file name. NULL: out of memory. */
char *url_file_name(const char *url);

/* End of the last part of the URL's path: a query, a fragment or the end of the text. Borrowed. */
const char *url_name_end(const char *url);

#endif
