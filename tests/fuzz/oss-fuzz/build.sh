#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# build.sh - build the fuzzers of $SRC/organfs as OSS-Fuzz asks for them, in $WORK with $CC, $CXX,
# $CFLAGS, $CXXFLAGS and $LIB_FUZZING_ENGINE into $OUT, each with its seeds, dictionary and
# options. The machine that runs them has no libraries but glibc's, so the others are in $OUT/lib.

cd "$SRC/organfs"
make=(make -j"$(nproc)" "B=$WORK/organfs" SAN= "CC=$CC" "CFLAGS=$CFLAGS"
	"LDFLAGS=-Wl,--disable-new-dtags,-rpath,\\\$\$ORIGIN/lib" HARDENING=-fPIE
	"FUZZ_LINK=$CXX $CXXFLAGS" "ENGINE=$LIB_FUZZING_ENGINE")
"${make[@]}" fuzzers

mkdir -p "$OUT/lib"
for source in tests/fuzz/fuzz_*.c; do
	fuzzer=$(basename "$source" .c)
	cp "$WORK/organfs/tests/fuzz/$fuzzer" "$OUT/$fuzzer"
	dictionary=tests/fuzz/$fuzzer.dict
	[ -e "$dictionary" ] || dictionary=tests/fuzz/gguf.dict
	cp "$dictionary" "$OUT/$fuzzer.dict"
	printf '[libfuzzer]\nmax_len = 65536\n' >"$OUT/$fuzzer.options"
	rm -f "$OUT/${fuzzer}_seed_corpus.zip"
	find tests/fuzz/corpus tests/malformed "tests/fuzz/seeds/$fuzzer" -type f -size -64k \
		2>/dev/null | sort | zip -q -j "$OUT/${fuzzer}_seed_corpus.zip" -@
	ldd "$OUT/$fuzzer"
done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
	grep -vE '/(libc|libm|libpthread|libdl|librt|libresolv)\.so[.0-9]*$' |
	xargs -r -d '\n' cp -L -t "$OUT/lib"
