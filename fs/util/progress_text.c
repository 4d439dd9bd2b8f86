/* SPDX-License-Identifier: MIT */
/* progress_text.c - see progress_text.h. */
#include "fs/util/progress_text.h"

#include <inttypes.h>

/* seconds before which rate and time left are unknown */
#define RATE_S 0.3
#define LEFT_S 1.0

/* bytes that have to be done before the time left can be estimated */
#define LEFT_BYTES 1e6

void progress_text(FILE *out, uint64_t done, uint64_t total, double seconds, const char *noun)
{
	const double part = done < total ? (double)done / (double)total : 1;

	fprintf(out, "%d %%, ", (int)(part * 100));
	if (noun)
		fprintf(out, "%" PRIu64 " of %" PRIu64 " %s", done, total, noun);
	else
		fprintf(out, "%.0f of %.0f MB", (double)done / 1e6, (double)total / 1e6);
	if (!noun && seconds >= RATE_S)
		fprintf(out, ", %.0f MB/s", (double)done / 1e6 / seconds);
	if (seconds >= LEFT_S && done < total && (double)done >= (noun ? 1 : LEFT_BYTES)) {
		const double left = ((double)total - (double)done) / ((double)done / seconds);
		const uint64_t whole = left < 1e9 ? (uint64_t)left : 1000000000;

		fprintf(out, ", %" PRIu64 ":%02" PRIu64 " left", whole / 60, whole % 60);
	}
}
