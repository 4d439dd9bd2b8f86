/* SPDX-License-Identifier: MIT */
/* loss_table.c - see loss_table.h. */
#include "fs/report/loss_table.h"
#include "fs/lazy/lazy_text.h"
#include "fs/lazy/memo.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_line(struct model *model, const struct subject *subject, enum organ_view form,
		       struct lazy_text *cells)
{
	const struct organ organ = model_organ(model, subject->tensor, subject->content);
	char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX];

	fprintf(lazy_text_stream(cells), "%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t",
		model_organ_path(model, subject->tensor, path), type_name(organ.type, scratch),
		organ.data_size, organ_view_organ(form, &organ).data_size);
	lazy_text_add_loss(cells, subject);
}

struct view *loss_table_view(struct model *model, struct tensor_losses *losses,
			     const struct snapshot *snapshot, uint32_t type)
{
	struct lazy_text *cells = lazy_text_new_of_losses(losses, type);
	uint32_t *order = model_order(model, snapshot->n);
	enum organ_view form;

	organ_view_of_type(type, &form);
	if (!cells) {
		free(order);
		return NULL;
	}
	if (!order)
		lazy_text_fail(cells);
	fputs(LOSS_TABLE_HEADER, lazy_text_stream(cells));
	for (uint32_t k = 0; order && k < snapshot->n; k++) {
		const struct subject subject = { order[k], snapshot->content[order[k]] };

		if (organ_file_has_view(model, subject.tensor, subject.content, form))
			print_line(model, &subject, form, cells);
	}
	free(order);
	return lazy_text_view(cells);
}
