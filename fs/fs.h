/* SPDX-License-Identifier: MIT */
/* fs.h - a mount: everything that hangs from the FUSE session. */
#ifndef FS_FS_H
#define FS_FS_H

#include "fs/assembly.h"
#include "fs/buffers.h"
#include "fs/generated.h"
#include "fs/handles.h"
#include "fs/nodes.h"
#include "fs/options.h"
#include "fs/pool.h"
#include "fs/readings.h"
#include "fs/scratches.h"
#include "fs/writers.h"

struct fs {
	/* Set by fs_new() and not changed afterwards. */
	const struct options *options;
	struct log *log;
	struct model *model;
	struct nodes *nodes;
	struct handles *handles;
	struct scratches *scratches;
	struct writers *writers;
	struct generated *generated;
	struct assembly *assembly;
	struct buffers *buffers;
	struct readings *readings;
	struct pool *makers;	 /* reads that wait for a reading */
	struct pool *commits;	 /* grafts being made durable */
	struct pool *assemblies; /* one at a time */
};

/* Everything but the FUSE session. options, log and model are borrowed and outlive the fs. NULL:
 * out of memory. */
struct fs *fs_new(const struct options *options, struct log *log, struct model *model);

/* End the measuring, and wait for the grafts and assemblies that still run. None may be begun
 * afterwards. */
void fs_settle(struct fs *fs);

void fs_free(struct fs *fs);

#endif
