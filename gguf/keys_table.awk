# Turns keys.tsv into the rows of the table in keys.c.
BEGIN {
	FS = "\t"
	split("uint8 U8 int32 I32 uint32 U32 float32 F32 bool BOOL string STRING - ARRAY", words, " ")
	for (i = 1; i in words; i += 2)
		of[words[i]] = words[i + 1]
}
NR > 1 { printf "{ \"%s\", { KV_%s, KV_%s } },\n", $1, of[$2], of[$3] }
