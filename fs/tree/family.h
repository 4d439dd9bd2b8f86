/* SPDX-License-Identifier: MIT */
/* family.h - what a family of files is and does. No operation knows a request of the kernel's: the
 * caller decides on which thread it is called, and how the request is answered. A pointer that a
 * family does not set is NULL, and says that it has no such thing. */
#ifndef FS_TREE_FAMILY_H
#define FS_TREE_FAMILY_H

#include "fs/tree/inodes.h"
#include "gguf/organ.h"

#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>

struct value_type;

struct tree; /* tree.h */

/* One entry of a directory. */
struct listed {
	char name[NAME_MAX + 1];
	uint64_t ino;
	mode_t type;
	bool known; /* a file of the tensor, whose inode takes no making */
	enum family_number family;
	struct model *model;
	uint32_t tensor;
};

/* For how long a name stands for the same inode. */
enum family_name {
	NAME_IN_READ_ONLY, /* in a mount that takes no writes, when all shards are there */
	NAME_FOREVER,
	NAME_IN_WHOLE, /* when all shards are there; before, as the first */
	NAME_NEVER,
};

/* What becomes of the bytes written to an inode that is no stage's. */
enum family_write {
	WRITE_REFUSED,	/* open() says so; or there is a stage operation */
	WRITE_DROPPED,	/* so that whole trees can be copied in */
	WRITE_OBEYED,	/* words, obeyed when the process that wrote last closes the file: obey() */
	WRITE_ASSEMBLES /* each write is the name of a file, also where nothing can be grafted */
};

/* Does what a name in a directory shows depend on where links lead? */
enum family_links {
	LINKS_NO,
	LINKS_YES,
	LINKS_OPENED, /* an organ that is a link is followed when it is opened */
};

/* What was written to be obeyed, and for which process. */
struct family_words {
	char *text; /* n bytes and a NUL; obey() may change it */
	size_t n;
	const char *source; /* the file that it was copied from; NULL: not known */
	const char *cwd;    /* where its writer is, as traced; NULL: not known */
	uid_t uid;
	gid_t gid;
	const atomic_bool *stop; /* when it becomes true, nothing more is begun */
};

#define TITLE_MAX (NAME_MAX + 32)

struct family {
	mode_t mode;	      /* with type; is_fixed and is_private may take some away */
	unsigned directories; /* that are in it whatever the model is, for their count of links */
	enum family_name name;
	enum family_write write;
	enum family_links links;
	bool root;	   /* of the mount or of a model */
	bool grafts;	   /* names can be made, renamed and removed in the directory */
	bool takes_links;  /* symbolic and hard ones, in the directory */
	bool slot;	   /* of an organ */
	bool in_block;	   /* its name may have another beside it in blocks/N */
	bool scratch;	   /* a name of scratch_files.h, not in a root */
	bool copied;	   /* not renamed, as if between filesystems */
	bool nothing;	   /* made again and removed without any effect */
	bool traced;	   /* of WRITE_OBEYED: its source and cwd are looked for */
	bool lines;	   /* of WRITE_OBEYED: complete lines count, less those with '#' first */
	bool computed;	   /* made as it is read */
	bool tells;	   /* of WRITE_DROPPED, generated: poll(2) waits for a change */
	bool is_copy;	   /* model.gguf: its bytes are the organs' once more; counts one block */
	bool shows_slot;   /* st_ino is number(): an editor finds the same file after a write */
	bool is_organ;	   /* its file: it can be measured and hashed, and a stage takes it over */
	size_t most;	   /* of WRITE_OBEYED: bytes */
	const char *drops; /* for the log, of WRITE_DROPPED: why */
	const char *const *attributes; /* those of user.organfs that are listed; ends with NULL */

	/* May its bytes be other ones later, under the same inode number? Each reader then has
	 * those of the moment of its open(), past the page cache. */
	bool (*varies)(const struct inode *inode);
	uint64_t (*size)(const struct inode *inode); /* without: as family_size() finds it */
	/* What a reader sees. NULL with *rc set. Without: the inode's view. */
	struct view *(*open)(const struct tree *tree, const struct inode *inode, int *rc);
	bool (*is_fixed)(const struct inode *inode);   /* can it not be written to? */
	bool (*is_private)(const struct inode *inode); /* is it for its owner alone? */
	/* A number for the slot or key of an inode or of the stage over it (write_opens.h). */
	uint64_t (*number)(const struct inode *inode);
	/* A new inode over it, in which the caller will write; with WRITE_DROPPED only where it
	 * cannot write to this one. NULL: out of memory. */
	struct inode *(*stage)(const struct tree *tree, const struct inode *inode);
	int (*truncate)(struct inode *inode, uint64_t size); /* without: as family_truncate() */

	/* Path below the root of its model, by which messages name the file. */
	void (*title)(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX]);

	/* Of a stage or scratch file: put it in force, if its name says where: 0 or -errno. Does
	 * closing it, emptied and not written to, make it an empty string?
	 * What the log is told when the last writer has released it. */
	int (*commit)(const struct tree *tree, struct inode *inode);
	bool (*is_emptied)(const struct inode *inode);
	void (*released)(const struct inode *inode);

	/* Check n bytes, the whole lines of the first write(2) to a stage or of any to words, as
	 * the close will: a shell's echo looks at the error of its write alone. Does not wait.
	 * Returns 0, or -EINVAL with a line in the log, or -ENOMEM. */
	int (*judge)(const struct inode *inode, const char *lines, size_t n);

	/* Of WRITE_OBEYED: do what was written, all or nothing. Returns 0 or -errno, with a line in
	 * the log. */
	int (*obey)(const struct tree *tree, const struct inode *inode, struct family_words *words);

	/* Carry out the removal of the name by that process, 0: not known; waits for the disk.
	 * Returns 0 or -errno. */
	int (*remove)(const struct inode *inode, pid_t process);

	/* The attribute user.organfs.NAME into text of n bytes: its length or -ENODATA. The type of
	 * metadata; with this that can be set. The organ that the other attributes are of. */
	int (*attribute)(const struct inode *inode, const char *name, char *text, size_t n);
	bool (*type)(const struct inode *inode, struct value_type *type);
	struct organ (*organ)(const struct inode *inode);

	/* Of directories. lookup as tree_find(). May it, or saying how large the file is, have to
	 * read from the base first? The entry at that place or the next one after it; then *place
	 * moves on to it, and 0 comes after "..". */
	struct inode *(*lookup)(const struct tree *tree, const struct inode *directory,
				const char *name, int *rc);
	bool (*may_block)(const struct tree *tree, const struct inode *directory, const char *name);
	bool (*list)(const struct tree *tree, const struct inode *directory, uint64_t *place,
		     struct listed *entry);
	/* May a file of that name be made? Returns 0 or -EPERM. */
	int (*check_name)(const struct inode *directory, const char *name);
	/* Of one without grafts: the name of the one file that comes and goes, and that file, new
	 * and to be written, to release. NULL: out of memory. */
	const char *creates;
	struct inode *(*create)(const struct tree *tree, const struct inode *directory);
	/* In a directory that takes_links and no grafts: may a symbolic link of that name be made?
	 * Returns 0 or -errno, with a line in the log. What follows when it was removed. */
	int (*check_link)(const struct tree *tree, const struct inode *directory, const char *name);
	void (*link_removed)(const struct tree *tree, const struct inode *directory,
			     const char *name);
	uint64_t (*generation)(const struct inode *directory); /* of those with this number */
	/* Make a directory of that name, which is not there. NULL with *rc set: -EPERM, with a line
	 * in the log, or -ENOMEM. */
	struct inode *(*make_directory)(const struct tree *tree, const struct inode *directory,
					const char *name, int *rc);
	int (*remove_directory)(const struct tree *tree, const struct inode *directory);
	/* For the log: what to do instead of making a name in it. */
	const char *(*advice)(const char *name);
};

#define FAMILY_STRUCT(NUMBER, name) extern const struct family family_##name;
FAMILIES(FAMILY_STRUCT)
#undef FAMILY_STRUCT

extern const struct family *const families[]; /* by their numbers */

static inline const struct family *family_of(const struct inode *inode)
{
	return families[inode->family];
}

/* The bytes that a reader sees, or that were written; of a link those of its target. */
uint64_t family_size(const struct inode *inode);
uint64_t family_shown_number(const struct inode *inode); /* st_ino */

/* Truncate by name: 0 or -errno. What drops what is written to it drops this too. */
int family_truncate(struct inode *inode, uint64_t size);

/* What several families share. */
void family_organ_name(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX]);
int family_view_attribute(const struct inode *inode, const char *name, char *text, size_t n);
extern const char *const family_organ_attributes[];

#endif
