/* SPDX-License-Identifier: MIT */
/* family.h - a family of files: its properties and operations. Operations know no request of the
 * kernel: the caller chooses the thread and answers the request. A pointer that a family leaves
 * NULL means that it lacks the operation. */
#ifndef FS_TREE_FAMILY_H
#define FS_TREE_FAMILY_H

#include "fs/tree/inodes.h"
#include "gguf/organ.h"

#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>

struct value_type;

struct tree; /* tree.h */

struct listed {
	char name[NAME_MAX + 1];
	uint64_t ino;
	mode_t type;
	bool known; /* a file of the tensor, whose inode need not be made */
	enum family_number family;
	struct model *model;
	uint32_t tensor;
};

/* For how long a name denotes the same inode. */
enum name_lifetime {
	NAME_IN_READ_ONLY, /* in a read-only mount, with all shards of its model */
	NAME_FOREVER,
	NAME_IN_WHOLE, /* in every mount, with all shards of its model */
	NAME_NEVER,
};

/* Effect of writes to an inode without a stage. */
enum family_write {
	WRITE_REFUSED, /* open() for writing fails, or the stage operation makes another inode */
	WRITE_DROPPED, /* writes succeed without effect, so that whole trees can be copied in */
	WRITE_OBEYED,  /* words, carried out by obey() when the last writer closes the file */
	/* each write is the name of a file to assemble, also where nothing can be grafted */
	WRITE_ASSEMBLES
};

/* Does a name's result depend on the targets of links? */
enum family_links {
	LINKS_NO,
	LINKS_YES,
	LINKS_OPENED, /* a link is followed when the organ is opened */
};

/* Words written by a process, to obey. */
struct family_words {
	char *text; /* n bytes and a NUL; obey() may change it */
	size_t n;
	const char *source; /* file from which they were copied; NULL: not known */
	const char *cwd;    /* working directory of the writer, as traced; NULL: not known */
	uid_t uid;
	gid_t gid;
	const atomic_bool *stop; /* begin no further step once it is true */
};

#define TITLE_MAX (NAME_MAX + 32)

struct family {
	mode_t mode;	      /* with type; is_fixed and is_owner_only remove bits */
	unsigned directories; /* subdirectories of every model, for st_nlink */
	enum name_lifetime lifetime;
	enum family_write write;
	enum family_links links;
	bool root;	  /* root of the mount or of a model */
	bool grafts;	  /* names can be created, renamed and removed in the directory */
	bool takes_links; /* symbolic and hard links can be made in the directory */
	bool slot;	  /* file of a slot */
	bool in_block;	  /* the name may have a second one in blocks/N */
	bool scratch;	  /* scratch file (scratch_files.h), never in a root */
	bool exdev;	  /* rename fails with EXDEV, so that mv copies */
	bool discarded;	  /* can be created and removed without effect */
	bool traced;	  /* WRITE_OBEYED: source and cwd are traced */
	bool lines;	  /* WRITE_OBEYED: complete lines count; '#' begins a comment */
	bool computed;	  /* open() bypasses the page cache, as for every view of computed bytes */
	bool polled;	  /* WRITE_DROPPED, generated: poll(2) reports a change as POLLPRI */
	bool is_copy;	  /* model.gguf: the organs' bytes once more; counts one block */
	/* st_ino is number(), so that an editor finds the same file after a write */
	bool shows_slot;
	bool is_organ;	   /* an organ file: can be measured, hashed and adopted by a stage */
	size_t most;	   /* WRITE_OBEYED: maximal size in bytes */
	const char *drops; /* WRITE_DROPPED: the reason, for the log */
	const char *const *attributes; /* listed attributes of user.organfs; ends with NULL */

	/* May the bytes change under the same inode number? Then each open() takes its own bytes,
	 * and the page cache is bypassed. */
	bool (*varies)(const struct inode *inode);
	uint64_t (*size)(const struct inode *inode); /* default: see family_size() */
	/* View for a reader. NULL with *rc set. Default: the inode's view. */
	struct view *(*open)(const struct tree *tree, const struct inode *inode, int *rc);
	bool (*is_fixed)(const struct inode *inode);	  /* is it read-only? */
	bool (*is_owner_only)(const struct inode *inode); /* is it readable by its owner alone? */
	/* Number of the slot or key of an inode, equal for the stage over it (write_opens.h). */
	uint64_t (*number)(const struct inode *inode);
	/* New inode for writing in its place; with WRITE_DROPPED only if this inode cannot be
	 * written to. NULL: out of memory. */
	struct inode *(*stage)(const struct tree *tree, const struct inode *inode);
	int (*truncate)(struct inode *inode, uint64_t size); /* default: see family_truncate() */

	/* Path below the root of the model, by which messages name the file. */
	void (*title)(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX]);

	/* For a stage or scratch file. commit: put it in force, if its name denotes a slot or key:
	 * 0 or -errno. is_emptied: does closing it, truncated and not written to, make an empty
	 * string? released: log a release by the last writer. */
	int (*commit)(const struct tree *tree, struct inode *inode);
	bool (*is_emptied)(const struct inode *inode);
	void (*released)(const struct inode *inode);

	/* Check n bytes, the complete lines of the first write(2) to a stage or of any write(2) of
	 * words, as the close will: a shell's echo reports only the error of its write. Does not
	 * wait. Returns 0, or -EINVAL with a line in the log, or -ENOMEM. */
	int (*judge)(const struct inode *inode, const char *lines, size_t n);

	/* WRITE_OBEYED: carry out the words, all or none. Returns 0 or -errno, with a line in the
	 * log. */
	int (*obey)(const struct tree *tree, const struct inode *inode, struct family_words *words);

	/* Remove the name for that process, 0: not known; waits for the disk. Returns 0 or
	 * -errno. */
	int (*remove)(const struct inode *inode, pid_t process);

	/* attribute: user.organfs.NAME into text of n bytes, unless its value has to be computed
	 * (ops_xattr.c); returns its length or -ENODATA. type: of a metadata value; makes
	 * user.organfs.type writable. organ: described by the other attributes. */
	int (*attribute)(const struct inode *inode, const char *name, char *text, size_t n);
	bool (*type)(const struct inode *inode, struct value_type *type);
	struct organ (*organ)(const struct inode *inode);

	/* For directories. path: below the root of the model, for tree_path(); NULL: a root. C
	 * stands for the class, F for the form, S for CLASS/NAME of the slot, B for the block.
	 * lookup: as tree_find(). may_block: may lookup, or the file's size, have to read
	 * from the base first? list: the first entry from *place on, and its place in *place;
	 * place 0 follows "..". */
	const char *path;
	struct inode *(*lookup)(const struct tree *tree, const struct inode *directory,
				const char *name, int *rc);
	bool (*may_block)(const struct tree *tree, const struct inode *directory, const char *name);
	bool (*list)(const struct tree *tree, const struct inode *directory, uint64_t *place,
		     struct listed *entry);
	/* Check that a file of that name may be created. Returns 0 or -EPERM. */
	int (*check_name)(const struct inode *directory, const char *name);
	/* In a directory without grafts: the name of the one file that comes and goes, and a new
	 * inode of that file for writing, to release. NULL: out of memory. */
	const char *creates;
	struct inode *(*create)(const struct tree *tree, const struct inode *directory);
	/* In a directory that takes_links without grafts. check_link: check that a symbolic link of
	 * that name may be made; returns 0, or -errno with a line in the log. link_removed: follows
	 * its removal. */
	int (*check_link)(const struct tree *tree, const struct inode *directory, const char *name);
	void (*link_removed)(const struct tree *tree, const struct inode *directory,
			     const char *name);
	/* of the directory with this inode number */
	uint64_t (*generation)(const struct inode *directory);
	/* Make a missing directory of that name. NULL with *rc set: -EPERM, with a line in the log,
	 * or -ENOMEM. */
	struct inode *(*make_directory)(const struct tree *tree, const struct inode *directory,
					const char *name, int *rc);
	int (*remove_directory)(const struct tree *tree, const struct inode *directory);
	/* For the log: the remedy if no name can be made in the directory. */
	const char *(*advice)(const char *name);
};

#define FAMILY_STRUCT(NUMBER, name) extern const struct family family_##name;
FAMILIES(FAMILY_STRUCT)
#undef FAMILY_STRUCT

extern const struct family *const families[]; /* by enum family_number */

static inline const struct family *family_of(const struct inode *inode)
{
	return families[inode->family];
}

/* Size of the bytes that a reader sees or a writer wrote; of a link that of its target. */
uint64_t family_size(const struct inode *inode);
uint64_t family_shown_number(const struct inode *inode); /* st_ino */

/* Truncate by name: 0 or -errno. Families with WRITE_DROPPED ignore it. */
int family_truncate(struct inode *inode, uint64_t size);

/* Shared by several families. */
void family_organ_name(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX]);
int family_view_attribute(const struct inode *inode, const char *name, char *text, size_t n);
extern const char *const family_organ_attributes[];

#endif
