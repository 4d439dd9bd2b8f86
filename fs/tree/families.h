/* SPDX-License-Identifier: MIT */
/* families.h - the families of files, one per line. struct family (family.h) describes each;
 * families.c puts family_NAME into the table. */
#ifndef FS_TREE_FAMILIES_H
#define FS_TREE_FAMILIES_H

#define FAMILIES(FAMILY)                                                                           \
	FAMILY(MODELS, models)	 /* the root of a mount with several models; model: NULL */        \
	FAMILY(ROOT, root)	 /* of a model */                                                  \
	FAMILY(CLASS, class)	 /* index: enum organ_class */                                     \
	FAMILY(ORGAN, organ)	 /* index: tensor; content: the graft, NULL for the base's */      \
	FAMILY(LINK, link)	 /* an organ that is a symbolic link; content: its target */       \
	FAMILY(THETA, theta)	 /* the θ file of an organ: index, content as there */            \
	FAMILY(STAGE, stage)	 /* index: tensor; stage: the bytes written over it */             \
	FAMILY(SCRATCH, scratch) /* a file that is no slot: stage is its content */                \
	FAMILY(SCRATCH_LINK, scratch_link) /* a symbolic link that is no slot's: the content's */  \
	FAMILY(ADAPTER, adapter)	   /* a link to an adapter's file; index: its number */    \
	FAMILY(SETTING, setting) /* a number of an adapter; index: its file's; view: its text */   \
	FAMILY(SETTING_STAGE, setting_stage) /* index as there; stage: bytes written over it */    \
	FAMILY(BASE, base)		     /* the directory .base */                             \
	FAMILY(BASE_CLASS, base_class)	     /* a class in it; index: enum organ_class */          \
	FAMILY(BASE_ORGAN, base_organ)	     /* an organ in that; index: tensor */                 \
	FAMILY(DIFFS, diffs)		     /* the directory .diff */                             \
	FAMILY(DIFF_FILE, diff_file)	     /* a file in it; view: its content */                 \
	FAMILY(VIEWS, views)		     /* the directory .views */                            \
	FAMILY(SHARDS, shards)		     /* the directory .views/shards */                     \
	FAMILY(BLOCKS, blocks)		     /* the directory blocks */                            \
	FAMILY(BLOCK, block)		     /* a directory in it; index: block, part: inner */    \
	FAMILY(ORDER, order)		     /* blocks/order */                                    \
	FAMILY(GENERATED, generated)	     /* index: enum generated_kind; view: its content */   \
	FAMILY(GENERATED_FIXED, generated_fixed) /* of these, one in .views or .base; a shard */   \
	FAMILY(MODEL_FILE, model_file)		 /* model.gguf */                                  \
	FAMILY(LOG, log)			 /* .log */                                        \
	FAMILY(GRAFTS, grafts)			 /* .grafts */                                     \
	FAMILY(ASSEMBLE, assemble)		 /* .assemble */                                   \
	FAMILY(UNDO, undo)			 /* .undo */                                       \
	FAMILY(RECIPE, recipe)			 /* .recipe */                                     \
	FAMILY(TYPES_LIST, types_list)		 /* .types */                                      \
	FAMILY(MERGE, merge)			 /* .merge */                                      \
	FAMILY(METADATA, metadata)		 /* the directory metadata */                      \
	FAMILY(KEY, key)	     /* index: key; metadatum: its value, NULL for the base's */   \
	FAMILY(KEY_STAGE, key_stage) /* index: key; stage: the bytes written over it */            \
	FAMILY(BASE_METADATA, base_metadata)                                                       \
	FAMILY(BASE_KEY, base_key)	   /* index: key; the base's value */                      \
	FAMILY(TYPES, types)		   /* the directory .views/types; part as there */         \
	FAMILY(FORM, form)		   /* a directory of .views; part: enum organ_view */      \
	FAMILY(FORM_CLASS, form_class)	   /* one in it; index: enum organ_class, part as there */ \
	FAMILY(FORMED, formed)		   /* an organ in a form; index, content, part as there */ \
	FAMILY(FORMED_STAGE, formed_stage) /* stage: the bytes written over it, of NumPy */        \
	FAMILY(EXPERTS, experts) /* the directory of a tensor's experts; index: tensor */          \
	FAMILY(EXPERT, expert)	 /* index, content: the stack; part: which, or INODE_ORDER */      \
	FAMILY(EXPERT_STAGE, expert_stage) /* stage: the bytes written over that */                \
	FAMILY(SINK, sink)		   /* an empty file that drops all bytes written to it */

#define FAMILY_NUMBER(NUMBER, name) FAMILY_##NUMBER,
enum family_number { FAMILIES(FAMILY_NUMBER) };
#undef FAMILY_NUMBER

#endif
