# Turns tensor_classes.tsv into the rows of the table in anatomy.c, sorted for bsearch().
BEGIN { FS = "\t" }
NR == 1 || $1 ~ /^\{base\}/ { next }	# the header; endings are a rule of their own
{ printf "{ \"%s\", CLASS_%s },\n", $1, toupper($2) | "LC_ALL=C sort" }
