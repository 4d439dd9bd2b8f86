# organfs - `make help` lists the targets.
# Sections: settings, objects, programs, check, bench, demo, install, clean.

## settings

PREFIX ?= /usr/local
DESTDIR ?=
# umount(8) and mount(8) look for their helpers in /sbin and nowhere else.
SBINDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/sbin,$(PREFIX)/sbin)
CC ?= cc
CFLAGS ?= -O2 -g
# SAN=address,undefined or SAN=thread builds into a tree of its own: no stale objects.
SAN ?=
B := build/$(or $(SAN),plain)
comma := ,
VERSION := 0.1.0

WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wformat=2 -Wwrite-strings -Wpointer-arith
HARDENING := -fstack-protector-strong -fPIE $(if $(SAN),,-D_FORTIFY_SOURCE=2)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -ffp-contract=off -pthread \
	$(WARNINGS) $(HARDENING) $(SANITIZE) $(CFLAGS)
ALL_LDFLAGS = -pthread -pie -Wl,-z,relro,-z,now $(SANITIZE) $(LDFLAGS)

# measure/ needs the Fourier transform and nothing else.
MEASURE_PACKAGES := kissfft-float
PACKAGES := fuse3 libxxhash libzstd libcjson $(MEASURE_PACKAGES)
INSTALL := install

## objects

GGUF := $(patsubst gguf/%.c,%,$(wildcard gguf/*.c))
FS := $(filter-out main,$(patsubst fs/%.c,%,$(wildcard fs/*.c)))
MEASURE := $(patsubst measure/%.c,%,$(wildcard measure/*.c))
GGUF_OBJECTS := $(GGUF:%=$B/gguf/%.o)
FS_OBJECTS := $(FS:%=$B/fs/%.o)
MEASURE_OBJECTS := $(MEASURE:%=$B/measure/%.o)

.PHONY: all
all: $B/organfs	## build organfs

# The command line of the compiler, so that everything is rebuilt when it changes.
$B/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(VERSION)' | cmp -s - $@ || \
		echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(VERSION)' > $@
FORCE:

# gguf/ sees nothing but itself and libc, measure/ nothing but itself, libc, libm and KissFFT.
$B/gguf/%.o: INC = -I$B/gguf
$B/measure/%.o: INC = $(shell pkg-config --cflags $(MEASURE_PACKAGES))
$B/fs/%.o $B/tests/%.o: INC = -I. -DORGANFS_VERSION='"$(VERSION)"' \
	$(shell pkg-config --cflags $(PACKAGES))

$B/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC) -MMD -MP -c $< -o $@

$B/gguf/anatomy.o: $B/gguf/anatomy_table.inc
$B/gguf/anatomy_table.inc: gguf/anatomy_table.awk gguf/tensor_classes.tsv
	@mkdir -p $(@D)
	awk -f gguf/anatomy_table.awk gguf/tensor_classes.tsv > $@.new && mv $@.new $@

$B/libgguf.a: $(GGUF_OBJECTS)
$B/libmeasure.a: $(MEASURE_OBJECTS)
$B/libfs.a: $(FS_OBJECTS)
%.a:
	rm -f $@ && $(AR) rcs $@ $^

## programs

LIBS = $(shell pkg-config --libs $(PACKAGES))
MEASURE_LIBS = $(shell pkg-config --libs $(MEASURE_PACKAGES)) -lm
$B/organfs: $B/fs/main.o $B/libfs.a $B/libgguf.a $B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lm

## check

# Unit tests mirror modules: tests/unit/test_X.c is for gguf/X.c, measure/X.c or fs/X.c and links the
# archive of that folder, so that a dependency upwards does not link.
UNIT := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/test_*.c)))
UNIT_GGUF := $(foreach t,$(UNIT),$(if $(wildcard gguf/$(t:test_%=%).c),$t))
UNIT_MEASURE := $(foreach t,$(UNIT),$(if $(wildcard measure/$(t:test_%=%).c),$t))
UNIT_FS := $(filter-out $(UNIT_GGUF) $(UNIT_MEASURE),$(UNIT))
UNIT_HELP := $B/tests/unit/mkgguf.o
# The k-th allocation and the k-th fsync() fail on demand: see tests/unit/unit.h.
UNIT_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=strdup \
	-Wl,--wrap=fsync
# A filesystem that shares blocks: tests/unit/fs_share.h.
$B/tests/unit/test_share $B/tests/unit/test_fill: UNIT_LDFLAGS += -Wl,--wrap=ioctl,--wrap=fallocate64 \
	-Wl,--wrap=copy_file_range,--wrap=sync_file_range,--wrap=fstatfs64
$(UNIT_GGUF:%=$B/tests/unit/%): $B/tests/unit/%: $B/tests/unit/%.o $(UNIT_HELP) $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) $(UNIT_LDFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libxxhash)
$(UNIT_MEASURE:%=$B/tests/unit/%): $B/tests/unit/%: $B/tests/unit/%.o $B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) $(UNIT_LDFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka) $(MEASURE_LIBS)
$(UNIT_FS:%=$B/tests/unit/%): $B/tests/unit/%: $B/tests/unit/%.o $(UNIT_HELP) $B/libfs.a $B/libgguf.a $B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) $(UNIT_LDFLAGS) -o $@ $^ $(LIBS) -lm $(shell pkg-config --libs cmocka)

FUZZ := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
# fuzz_X is for the module X: those of fs/ come with more.
FUZZ_FS := $(foreach f,$(FUZZ),$(if $(wildcard fs/$(f:fuzz_%=%).c),$f))
FUZZ_GGUF := $(filter-out $(FUZZ_FS),$(FUZZ))
$(FUZZ_GGUF:%=$B/tests/fuzz/%): $B/tests/fuzz/%: $B/tests/fuzz/%.o $B/tests/fuzz/replay.o $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(shell pkg-config --libs libxxhash)
$(FUZZ_FS:%=$B/tests/fuzz/%): $B/tests/fuzz/%: $B/tests/fuzz/%.o $B/tests/fuzz/replay.o \
		$B/libfs.a $B/libgguf.a $B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lm

# organfs on a disk that fails on demand (tests/tools/faults.c), and what else the mount tests run.
FAULTY_CALLS := write pwrite64 fsync fdatasync ftruncate64 fallocate64 futimens openat64 mkdir mkdirat \
	rmdir unlinkat symlinkat linkat renameat renameat2 copy_file_range \
	ioctl sync_file_range
$B/tests/tools/organfs-faults: $B/fs/main.o $B/tests/tools/faults.o $B/libfs.a $B/libgguf.a $B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) $(FAULTY_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(LIBS) -lm
$B/tests/tools/fsx: $B/tests/tools/fsx.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^
# Goes into programs of others, which have no sanitizer.
$B/tests/tools/nodirs.so: tests/tools/nodirs.c $B/flags
	@mkdir -p $(@D)
	$(CC) $(WARNINGS) $(CFLAGS) -shared -fPIC -o $@ $<
MOUNT_TOOLS := $(addprefix $B/tests/tools/,organfs-faults fsx nodirs.so)

.PHONY: check check-all check-unit check-fuzz check-mount check-style check-install fuzz
check: deps	## every test, as CI runs it; as root it installs what is missing
	$(MAKE) check-style check-install
	$(MAKE) check-unit check-mount
	$(MAKE) SAN=address,undefined check-unit check-fuzz check-mount

check-unit: $(UNIT:%=$B/tests/unit/%)	## unit tests; T='pattern' runs the matching cases
	@rc=0; for t in $(UNIT:%=$B/tests/unit/%); do $$t $(if $T,'$T') || rc=1; done; exit $$rc

check-fuzz: $(FUZZ:%=$B/tests/fuzz/%)	## the fuzzers' corpora and some seconds of mutations
	@set -e; for f in $(FUZZ); do \
		$B/tests/fuzz/$$f $(or $(FUZZ_SECONDS),5) tests/fuzz/corpus tests/malformed; done

check-mount: $B/organfs $(MOUNT_TOOLS)	## real mounts driven by real tools; T='pattern' runs the matching ones
	@ORGANFS=$(CURDIR)/$B/organfs tests/mount/run $(if $T,'$T')

check-style:	## formatting, line length, words that do not belong here
	@tests/style

check-install: all	## install, uninstall, and nothing is left
	@rm -rf $B/check-install
	@$(MAKE) -s install DESTDIR=$(CURDIR)/$B/check-install PREFIX=/usr
	@$(MAKE) -s list-installed PREFIX=/usr | while read -r mode file; do \
		[ "$$(stat -L -c %a $B/check-install$$file)" = $$mode ] || exit 1; done
	@$(MAKE) -s uninstall DESTDIR=$(CURDIR)/$B/check-install PREFIX=/usr
	@test -z "$$(find $B/check-install -type f -o -type l)" || \
		{ find $B/check-install -type f; exit 1; }
	@rm -rf $B/check-install
	@echo "install and uninstall: nothing left"

fuzz:	## libFuzzer (clang) on F=fuzz_reader until interrupted
	@mkdir -p build/fuzz/corpus build/fuzz/gguf
	awk -f gguf/anatomy_table.awk gguf/tensor_classes.tsv > build/fuzz/gguf/anatomy_table.inc
	clang -std=gnu17 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -I. -Ibuild/fuzz/gguf \
		-o build/fuzz/$(or $F,fuzz_reader) tests/fuzz/$(or $F,fuzz_reader).c $(GGUF:%=gguf/%.c) \
		$(if $(filter $F,$(FUZZ_FS)),fs/io.c fs/frames.c fs/frames_cache.c -lzstd) -lxxhash
	build/fuzz/$(or $F,fuzz_reader) build/fuzz/corpus tests/fuzz/corpus tests/malformed

## bench

.PHONY: bench
bench: $B/organfs $B/tests/bench/spans	## speed, as ratios within one run
	@ORGANFS=$(CURDIR)/$B/organfs SPANS=$(CURDIR)/$B/tests/bench/spans tests/bench/run

$B/tests/bench/spans: $B/tests/bench/spans.o $B/libfs.a $B/libgguf.a $B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lm

$B/tests/bench/zmeasure $B/tests/bench/purify: $B/tests/bench/%: $B/tests/bench/%.o $B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(MEASURE_LIBS)
$B/tests/bench/dequant: $B/tests/bench/dequant.o $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(shell pkg-config --libs libxxhash) -lm
.PHONY: bench-zmeasure bench-dequant bench-assemble bench-purify bench-views
bench-assemble: $B/organfs	## how fast a model is assembled; sharing blocks needs root
	@ORGANFS=$(CURDIR)/$B/organfs tests/bench/assemble

bench-dequant: $B/tests/bench/dequant	## how fast each type is decoded
	@$<

bench-purify: $B/tests/bench/purify	## how fast rows are purified, merged and quantised
	@$<

bench-views: $B/organfs	## how fast the files of .views are made, and with how much memory
	@ORGANFS=$(CURDIR)/$B/organfs tests/bench/views

bench-zmeasure: $B/tests/bench/zmeasure	## what measuring one tensor costs
	@$<

## demo

.PHONY: deps demo
deps:	## install what building and testing need, where it is missing (root, apt)
	@tests/install-deps

demo: deps	## build, mount a small model, graft, run, assemble, clean up
	@$(MAKE) -s all
	@ORGANFS=$(CURDIR)/$B/organfs tests/demo

## install

BINDIR := $(PREFIX)/bin
# A line for each file: mode, where it is here, where it goes.
INSTALLED := \
	755:$B/organfs:$(BINDIR)/organfs \
	755:mount-helpers/organ-dissect:$(BINDIR)/organ-dissect \
	755:mount-helpers/organ-stream:$(BINDIR)/organ-stream \
	755:mount-helpers/umount.fuse.organfs:$(BINDIR)/organfs-umount \
	755:mount-helpers/umount.fuse.organfs:$(SBINDIR)/umount.fuse.organfs

field = $(word $1,$(subst :, ,$2))
define install_line
	@$(INSTALL) -D -m $(call field,1,$1) $(call field,2,$1) $(DESTDIR)$(call field,3,$1)

endef

# Nobody has put a helper for all of FUSE there, but us.
UMOUNT_FUSE_IS_FREE = { [ ! -e $(DESTDIR)$(SBINDIR)/umount.fuse ] || \
	[ "$$(readlink $(DESTDIR)$(SBINDIR)/umount.fuse)" = umount.fuse.organfs ]; }

.PHONY: install uninstall list-installed
install: all	## honours PREFIX, DESTDIR and SBINDIR
	$(foreach f,$(INSTALLED),$(call install_line,$f))
	@if $(UMOUNT_FUSE_IS_FREE); then \
		ln -sf umount.fuse.organfs $(DESTDIR)$(SBINDIR)/umount.fuse; \
	else \
		echo "$(DESTDIR)$(SBINDIR)/umount.fuse is somebody else's, and left alone:"; \
		echo "umount /absolute/path will not wait for the assembly where root runs it"; \
	fi

uninstall:	## remove what install put there
	@! $(UMOUNT_FUSE_IS_FREE) || rm -f $(DESTDIR)$(SBINDIR)/umount.fuse
	rm -f $(foreach f,$(INSTALLED),$(DESTDIR)$(call field,3,$f))

list-installed:
	@printf '%s %s\n' $(foreach f,$(INSTALLED),$(call field,1,$f) $(call field,3,$f))

## clean

.PHONY: clean help compile_commands.json
clean:	## remove everything that was built
	rm -rf build

compile_commands.json:	## for clangd and clang-tidy
	$(MAKE) clean
	bear -- $(MAKE) all

help:	## this list
	@sed -n 's/^\([a-z_.-]*\):.*	## \(.*\)/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 26

-include $(wildcard $B/*/*.d $B/tests/*/*.d)
