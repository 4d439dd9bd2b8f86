/* SPDX-License-Identifier: MIT */
/* assembly_text.c - see assembly_text.h. */
#include "fs/files/assembly_text.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/util/plural.h"
#include "fs/util/progress.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Room for two counts and their words. */
#define GRAFTS_MAX 48

/* Print "9 grafts", "18 removals" or both. The removal of an added slot does not count, because the
 * base has no such slot. */
static void describe_grafts(const struct model *model, const struct snapshot *snapshot,
			    uint32_t merged, char text[GRAFTS_MAX])
{
	uint32_t removals = 0, grafts;
	int n = 0;

	for (uint32_t i = 0; i < model->gguf->n_tensors; i++) {
		const struct content *own = content_own(snapshot->content[i]);

		removals += content_is_whiteout(own) && !own->beneath;
	}
	grafts = snapshot->grafts - merged - removals;
	if (grafts || !removals)
		n = snprintf(text, GRAFTS_MAX, "%" PRIu32 " graft%s%s", grafts, plural(grafts),
			     removals ? ", " : "");
	if (removals)
		snprintf(text + n, GRAFTS_MAX - (size_t)n, "%" PRIu32 " removal%s", removals,
			 plural(removals));
}

void assembly_text_done(const struct model *model, const struct snapshot *snapshot,
			const struct progress *progress, const char *path, int shards,
			double seconds, char *text, size_t n)
{
	const uint64_t size = atomic_load(&progress->total);
	const uint32_t merged = snapshot_merge_grafts(snapshot, model->gguf->n_tensors);
	const uint32_t missing = model->left_alone;
	char in_shards[32] = "", of_merge[32] = "", without[80] = "", grafts[GRAFTS_MAX];

	if (missing)
		snprintf(without, sizeof(without),
			 "; without %" PRIu32 " file%s of the layer that %s left alone", missing,
			 plural(missing), missing == 1 ? "is" : "are");
	if (merged)
		snprintf(of_merge, sizeof(of_merge), ", %" PRIu32 " merged", merged);
	describe_grafts(model, snapshot, merged, grafts);
	if (shards)
		snprintf(in_shards, sizeof(in_shards), " in %d shard%s", shards,
			 plural((uint64_t)shards));
	snprintf(text, n,
		 ASSEMBLY_DONE "%s: %" PRIu64 " bytes%s, %s%s, %.1f s, %.0f MB/s; %" PRIu64
			       " shared, %" PRIu64 " copied, %" PRIu64 " written%s",
		 path, size, in_shards, grafts, of_merge, seconds,
		 (double)size / 1e6 / (seconds > 1e-6 ? seconds : 1e-6),
		 (uint64_t)atomic_load(&progress->shared), (uint64_t)atomic_load(&progress->copied),
		 (uint64_t)atomic_load(&progress->written), without);
}

void assembly_text_failed(const char *path, const struct error *err, bool placed, bool confined,
			  char *text, size_t n)
{
	snprintf(text, n, ASSEMBLY_FAILED "%s: %s%s%s", path, err->text,
		 confined && err->code == EACCES
			 ? "; with -o confine organfs writes only into the layer and the "
			   "directory of output=, or else of the base"
			 : "",
		 placed ? "" : "; the target is as it was");
}

void assembly_text_progress(const struct progress *progress, double seconds,
			    char text[ASSEMBLY_PROGRESS_MAX])
{
	const uint64_t shared = atomic_load(&progress->shared), done = atomic_load(&progress->done);
	const uint64_t total = atomic_load(&progress->total);
	/* Shared bytes come first and take no time, so the rate is that of the other bytes. */
	const double rate = seconds > 0 && done > shared ? (double)(done - shared) / seconds : 0;
	char left[32] = "?";

	if (total == 0) {
		snprintf(text, ASSEMBLY_PROGRESS_MAX, "the grafts are being checked");
		return;
	}
	if (done <= total && rate > 0)
		snprintf(left, sizeof(left), "%.0f", (double)(total - done) / rate);
	/* Round the percentage down, so that 100 % means all bytes. */
	snprintf(text, ASSEMBLY_PROGRESS_MAX,
		 "%.1f %%, %" PRIu64 " of %" PRIu64 " bytes, %.0f MB/s, %s s left",
		 (double)(uint64_t)((double)done / (double)total * 1000) / 10, done, total,
		 rate / 1e6, left);
}
