-- SPDX-License-Identifier: MIT
-- The database of a layer that organfs 1.0 made, format 2: format-2.sh loads it. MODEL stands for the
-- path of the base, 0 for its user and group. Never change it.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE base (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	name TEXT NOT NULL,
	path TEXT,
	fingerprint TEXT NOT NULL,
	contents TEXT,
	times TEXT
) STRICT;
INSERT INTO base VALUES(1,'base.gguf',NULL,'3286f6f2f3c199d16edb00dde00ce3d1','8b6fd6cadf6370c3a9fbd395ee6cf5ee',NULL);
CREATE TABLE blob (
	number INTEGER PRIMARY KEY CHECK (number > 0),
	form TEXT NOT NULL CHECK (form IN ('plain', 'zstd')),
	size INTEGER NOT NULL CHECK (size >= 0),
	xxh128 TEXT NOT NULL,
	bytes BLOB CHECK (bytes IS NULL OR (form = 'plain' AND length(bytes) = size))
	
) STRICT;
INSERT INTO blob VALUES(1,'plain',169,'61cfa63f12446de7401fd558355723dc',X'15000000626c6b2e312e66666e5f6e6f726d2e77656967687401000000400000000000000001000000083b4539443bc739af3a5b38f33a223af238e23a363aae391b3afc3979392b38853b6b3a9b391d39083812390f3aa3388a3a743ab639fe39013a0f3a923abc38743a263a513aa238353c4c39133bef3aed3a463a0f3b583bae392839373bf23ac13af639363a3b3ace38a739863b8f39f1382739bd3aaf390d3abf39ed3a173a');
INSERT INTO blob VALUES(2,'plain',65581,'e15867d8586cb11c01e68e86ea67d41e',NULL);
CREATE TABLE slot (
	class TEXT NOT NULL,
	name TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('copy', 'reference', 'link', 'removed')),
	mtime INTEGER NOT NULL,
	tensor BLOB,
	blob INTEGER REFERENCES blob CHECK ((kind = 'copy') = (blob IS NOT NULL)),
	target TEXT CHECK ((kind = 'link') = (target IS NOT NULL)),
	uid INTEGER,
	gid INTEGER,
	reference TEXT CHECK (kind != 'reference' OR reference IS NOT NULL),
	
	
	donor TEXT,
	donor_tensor BLOB,
	donor_fingerprint TEXT,
	donor_of TEXT CHECK (donor_of IN ('base', 'another')),
	donor_view TEXT,
	PRIMARY KEY (class, name)
) STRICT, WITHOUT ROWID;
INSERT INTO slot VALUES('embed','token_embd','copy',1795928179961098602,NULL,2,NULL,0,0,NULL,'MODEL',X'746f6b656e5f656d62642e776569676874','3286f6f2f3c199d16edb00dde00ce3d1','base','types/f16');
INSERT INTO slot VALUES('norm','blk_1_ffn_norm','copy',1795928179949266480,NULL,1,NULL,0,0,NULL,'MODEL',X'626c6b2e312e66666e5f6e6f726d2e776569676874','3286f6f2f3c199d16edb00dde00ce3d1','base','types/f16');
INSERT INTO slot VALUES('norm','blk_2_attn_norm','removed',1795928179992423839,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO slot VALUES('organs','blk_2_ffn_down','link',1795928179984889522,NULL,NULL,'../.base/organs/blk_0_ffn_down.bin',0,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO slot VALUES('organs','blk_3_ffn_up','reference',1795928179979620680,NULL,NULL,NULL,0,0,replace('organfs reference 1\nmodel MODEL\nfingerprint 3286f6f2f3c199d16edb00dde00ce3d1\ntensor blk.1.ffn_up.weight\ntype 0\nshape 64x172\nbytes 44032\nof base\n','\n',char(10)),NULL,NULL,NULL,NULL,NULL);
INSERT INTO slot VALUES('organs','blk_6_ffn_up','reference',1795928180001389095,X'626c6b2e362e66666e5f75702e776569676874',NULL,NULL,0,0,replace('organfs reference 1\nmodel MODEL\nfingerprint 3286f6f2f3c199d16edb00dde00ce3d1\ntensor blk.1.ffn_up.weight\ntype 0\nshape 64x172\nbytes 44032\nof base\n','\n',char(10)),NULL,NULL,NULL,NULL,NULL);
CREATE TABLE type (
	class TEXT NOT NULL,
	name TEXT NOT NULL,
	type TEXT NOT NULL,
	mtime INTEGER NOT NULL,
	PRIMARY KEY (class, name)
) STRICT, WITHOUT ROWID;
INSERT INTO type VALUES('organs','blk_4_ffn_gate','Q8_0',1795928180006203685);
CREATE TABLE key (
	name TEXT PRIMARY KEY,
	removed INTEGER NOT NULL CHECK (removed IN (0, 1)),
	type TEXT,
	text BLOB CHECK (removed = (text IS NULL)),
	mtime INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "key" VALUES('general.name',0,NULL,X'6368696d6572610a',1795928180010374381);
INSERT INTO "key" VALUES('mine.number',0,'string',X'370a',1795928180014354715);
INSERT INTO "key" VALUES('tokenizer.ggml.seperator_token_id',1,NULL,NULL,1795928180024080267);
CREATE TABLE adapter (
	file TEXT PRIMARY KEY,
	target TEXT,
	uid INTEGER,
	gid INTEGER,
	text TEXT CHECK ((text IS NULL) = (target IS NOT NULL)),
	mtime INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO adapter VALUES('lora.scale',NULL,0,0,replace('2\n','\n',char(10)),1795928180030889400);
CREATE TABLE merge (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	text TEXT NOT NULL,
	uid INTEGER NOT NULL,
	gid INTEGER NOT NULL,
	mtime INTEGER NOT NULL
) STRICT;
INSERT INTO merge VALUES(1,replace('organfs merge 1\nmodel base -\ntensor 0 64x64 blk.5.attn_q.weight\ntensor 0 64x32 blk.5.attn_k.weight\ntensor 0 64x32 blk.5.attn_v.weight\ntensor 0 64x64 blk.5.attn_output.weight\ntensor 0 64 blk.5.attn_norm.weight\ntensor 0 64x172 blk.5.ffn_gate.weight\ntensor 0 172x64 blk.5.ffn_down.weight\ntensor 0 64x172 blk.5.ffn_up.weight\ntensor 0 64 blk.5.ffn_norm.weight\nconfig 156\nmerge_method: passthrough\nslices:\n- sources:\n  - model: {path: ''base''}\n    layer_range: [0, 5]\n- sources:\n  - model: {path: ''base''}\n    layer_range: [4, 5]\n','\n',char(10)),0,0,1795928179920669834);
CREATE TABLE directory (
	name TEXT PRIMARY KEY,
	mtime INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO directory VALUES('adapters',1795928180030993174);
INSERT INTO directory VALUES('embed',1795928179966025007);
INSERT INTO directory VALUES('metadata',1795928180024080307);
INSERT INTO directory VALUES('norm',1795928179992464840);
INSERT INTO directory VALUES('organs',1795928180006270093);
CREATE INDEX slot_blob ON slot (blob) WHERE blob IS NOT NULL;
COMMIT;
PRAGMA application_id = 0x4F524746;
PRAGMA user_version = 2;
