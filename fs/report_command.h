/* SPDX-License-Identifier: MIT */
/* summary.h - organfs --report: what a mount of some models would show, of their tables. */
#ifndef FS_SUMMARY_H
#define FS_SUMMARY_H

#include <stdint.h>

/* Print the report of the model that n files of tables are of, or of the one of that name, or with
 * name NULL the ranking of several. What is wrong with a file is said in a line on stderr, and
 * nothing is printed. Returns an exit status. */
int summary_run(const char *const *files, uint32_t n, const char *name);

#endif
