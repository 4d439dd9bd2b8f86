-- SPDX-License-Identifier: MIT
-- The tables of layer.db. The statements, without the words of comments, are part of the format: a
-- layer with other ones, or with other blanks in them, is refused (database.c), so that a change of
-- one takes another user_version. Version 1 was a directory of text files with a file LAYER.
-- application_id is 'ORGF'. Times are nanoseconds since 1970. A name in `class` and `name` is that
-- of a file in a mount, without ".bin".

-- The layer's base: one row.
CREATE TABLE base (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	name TEXT NOT NULL,        -- the file's name, for messages
	path TEXT,                 -- of a private layer: the canonical path of the base, or its URL
	fingerprint TEXT NOT NULL, -- fingerprint(): of the header and of samples of the data
	contents TEXT,             -- fingerprint_contents(); NULL: could not be made
	times TEXT                 -- fingerprint_times(); NULL: could not be made
) STRICT;

-- The bytes of copied organs, immutable.
CREATE TABLE blob (
	number INTEGER PRIMARY KEY CHECK (number > 0),
	form TEXT NOT NULL CHECK (form IN ('plain', 'zstd')), -- zstd: frames of the seekable format
	size INTEGER NOT NULL CHECK (size >= 0),              -- of the organ file, uncompressed
	xxh128 TEXT NOT NULL,                                 -- of the organ file, uncompressed
	bytes BLOB CHECK (bytes IS NULL OR (form = 'plain' AND length(bytes) = size))
	                           -- NULL: they are the file blobs/NUMBER
) STRICT;

-- The content of a slot, if it is not the base's.
CREATE TABLE slot (
	class TEXT NOT NULL,
	name TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('copy', 'reference', 'link', 'removed')),
	mtime INTEGER NOT NULL,
	tensor BLOB,               -- the exact name of the tensor, of a slot that was added
	blob INTEGER REFERENCES blob CHECK ((kind = 'copy') = (blob IS NOT NULL)),
	target TEXT CHECK ((kind = 'link') = (target IS NOT NULL)), -- of the link, as given
	uid INTEGER,               -- the owner of a link or reference, with whose rights it is opened
	gid INTEGER,
	reference TEXT CHECK (kind != 'reference' OR reference IS NOT NULL),
	                           -- the tensor that a reference holds, or that a link led to when
	                           -- it was good last (reference.h)
	donor TEXT,                -- of a copy: the path of the file that it came from
	donor_tensor BLOB,         -- its tensor there; NULL: the donor is an organ file
	donor_fingerprint TEXT,    -- of the donor's GGUF
	donor_of TEXT CHECK (donor_of IN ('base', 'another')), -- whose GGUF that is
	donor_view TEXT,           -- the view of .views that was copied; NULL: the tensor itself
	PRIMARY KEY (class, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX slot_blob ON slot (blob) WHERE blob IS NOT NULL;

-- The type of ggml in which a slot shows its content, if a user chose one.
CREATE TABLE type (
	class TEXT NOT NULL,
	name TEXT NOT NULL,
	type TEXT NOT NULL,        -- by its name in ggml: 'Q4_K'
	mtime INTEGER NOT NULL,
	PRIMARY KEY (class, name)
) STRICT, WITHOUT ROWID;

-- Edited metadata. A name is that of the key's file in metadata/.
CREATE TABLE key (
	name TEXT PRIMARY KEY,
	removed INTEGER NOT NULL CHECK (removed IN (0, 1)),
	type TEXT,                 -- NULL: the type that the key has in the base
	text BLOB CHECK (removed = (text IS NULL)),
	mtime INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Files of adapters/ that are no organs: links to adapters, and numbers.
CREATE TABLE adapter (
	file TEXT PRIMARY KEY,
	target TEXT,               -- of a link, as given
	uid INTEGER,               -- the owner of a link, with whose rights it is opened
	gid INTEGER,
	text TEXT CHECK ((text IS NULL) = (target IS NOT NULL)),
	mtime INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The merge of models beneath the grafts: no row, or one.
CREATE TABLE merge (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	text TEXT NOT NULL,        -- merge_note.h
	uid INTEGER NOT NULL,      -- with whose rights its models are opened
	gid INTEGER NOT NULL,
	mtime INTEGER NOT NULL
) STRICT;

-- The modification time of a directory of the mount: of a class, or "metadata".
CREATE TABLE directory (
	name TEXT PRIMARY KEY,
	mtime INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA application_id = 0x4F524746;
PRAGMA user_version = 2;
