# organfs - `make help` lists the targets.
# Sections: settings, objects, programs, check, bench, demo, install, package, clean.

## settings

# DESTDIR may contain blanks, PREFIX and SBINDIR may not.
PREFIX ?= /usr/local
DESTDIR ?=
# umount(8) and mount(8) look for their helpers only in /sbin.
SBINDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/sbin,$(PREFIX)/sbin)
# Cross build: CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
# PKG_CONFIG=aarch64-linux-gnu-pkg-config, and EMULATOR=qemu-aarch64-static to run unit tests.
CC ?= cc
PKG_CONFIG ?= pkg-config
EMULATOR ?=
CFLAGS ?= -O2 -g
# ccache, if it is installed and its directory writable, unless CC is a ccache already. Paths are
# mapped, so that clones share objects.
ifeq ($(origin CCACHE)$(findstring ccache,$(CC)),undefined)
CCACHE := $(shell dir=$$(ccache -k cache_dir 2>/dev/null) && mkdir -p "$$dir" 2>/dev/null && \
	[ -w "$$dir" ] && echo ccache)
endif
export CCACHE_BASEDIR := $(CURDIR)
# SAN=address,undefined or SAN=thread builds into a separate tree, so that no stale objects are
# used.
SAN ?=
B := build/$(or $(SAN),plain)
comma := ,
VERSION := 1.0.0

WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wformat=2 -Wwrite-strings -Wpointer-arith
# Debian's hardening=+all, with _FORTIFY_SOURCE at level 3; a glibc without level 3 uses level 2.
HARDENING := -fstack-protector-strong -fPIE $(if $(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
# Flags that not every architecture has.
HARDENING += $(shell for flag in -fstack-clash-protection -fcf-protection \
	-mbranch-protection=standard; do $(CC) -Werror $$flag -S -o /dev/null -x c /dev/null \
	2>/dev/null && echo $$flag; done)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -ffp-contract=off -pthread \
	$(WARNINGS) $(HARDENING) $(SANITIZE) "-ffile-prefix-map=$(CURDIR)=." $(CFLAGS)
# gold links programs with sanitizers in half the time. Not with clang, about whose runtime it warns.
LINKER := $(if $(SAN),$(shell echo 'int main(void) { return 0; }' | $(CC) -pie $(SANITIZE) \
	-fuse-ld=gold -Wl,--fatal-warnings -x c -o /dev/null - 2>/dev/null && echo -fuse-ld=gold))
ALL_LDFLAGS = -pthread -pie $(LINKER) -Wl,-z,relro,-z,now $(SANITIZE) $(LDFLAGS)

# KissFFT, the only library of measure/.
MEASURE_PACKAGES := kissfft-float
PACKAGES := fuse3 libxxhash libzstd libcjson libcurl libseccomp sqlite3 yaml-0.1 $(MEASURE_PACKAGES)
INSTALL := install

# $(call flags,--libs,fuse3 libzstd): pkg-config's output, cached per argument.
empty :=
key = flags_$(subst $(empty) ,_,$1 $2)
missing = $(shell for p in $1; do $(PKG_CONFIG) --exists $$p 2>/dev/null || echo $$p; done)
flags = $(if $(filter undefined,$(origin $(key))),$(eval $(key) := $(shell \
	$(PKG_CONFIG) $1 $2 2>/dev/null || echo missing)))$(if $(filter missing,$($(key))),$(error \
	$(PKG_CONFIG) does not find $(call missing,$2): `sudo make deps` installs the libraries, \
	`sudo make deps-check` those of the tests too))$($(key))

## objects

GGUF := $(patsubst gguf/%.c,%,$(wildcard gguf/*.c))
# The rooms of fs/, row by row from the ground up. A file includes its own folder and those of lower
# rows (tests/rooms), and links with no others: BELOW_X is what X may use, from the top down.
ROWS := 0 1 2 3 4 5 6 7 8 9 10 11
ROW_0 := util
ROW_1 := storage
ROW_2 := base tensor metadata
ROW_3 := layer merge
ROW_4 := model
ROW_5 := paths lazy assemble
ROW_6 := edit report check diff
ROW_7 := recipe
ROW_8 := files
ROW_9 := tree
ROW_10 := mount
ROW_11 := fuse commands
BELOW_fs :=
$(foreach r,$(ROWS),$(foreach f,$(ROW_$r),$(eval BELOW_$f := $(BELOW_fs)))$(eval \
	BELOW_fs := $(ROW_$r) $(BELOW_fs)))
FOLDERS := $(BELOW_fs)
# $(call archives,FOLDER...): the archives of folders of fs/.
archives = $(1:%=$B/libfs-%.a)
# Libraries and archives for a program of that folder.
with_below = $(call archives,$1 $(BELOW_$1)) $B/libgguf.a $B/libmeasure.a
# The archives of all rooms, from the top down, and those of gguf/ and measure/.
ALL_ROOMS = $(call archives,$(FOLDERS)) $B/libgguf.a $B/libmeasure.a
MEASURE := $(patsubst measure/%.c,%,$(wildcard measure/*.c))
GGUF_OBJECTS := $(GGUF:%=$B/gguf/%.o)
HELPERS := $(filter-out main,$(patsubst mount-helpers/%.c,%,$(wildcard mount-helpers/*.c)))
HELPERS_OBJECTS := $(HELPERS:%=$B/mount-helpers/%.o)
MEASURE_OBJECTS := $(MEASURE:%=$B/measure/%.o)

.PHONY: all
all: $B/organfs $B/organfs-umount	## build organfs and the helpers of mount(8) and umount(8)

# File with the compiler's command line, so that everything is rebuilt when it changes.
$B/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(PKG_CONFIG) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(VERSION)' | cmp -s - $@ || \
		echo '$(CC) $(PKG_CONFIG) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(VERSION)' > $@
FORCE:

# gguf/ includes only its own headers and libc's, measure/ in addition KissFFT's.
$B/gguf/%.o: INC = -I$B/gguf
$B/measure/%.o: INC = $(call flags,--cflags,$(MEASURE_PACKAGES))
$B/mount-helpers/%.o: INC = -I. -DORGANFS_VERSION='"$(VERSION)"'
$B/fs/%.o $B/tests/%.o: INC = -I. -DORGANFS_VERSION='"$(VERSION)"' $(call flags,--cflags,$(PACKAGES))

$B/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(CCACHE) $(CC) $(ALL_CFLAGS) $(INC) $(addprefix -include ,$(filter %.cases.h,$^)) -MMD -MP -c $< -o $@

$B/gguf/anatomy.o: $B/gguf/anatomy_table.inc
$B/gguf/anatomy_table.inc: gguf/tensor_classes.tsv
$B/gguf/keys.o: $B/gguf/keys_table.inc
$B/gguf/keys_table.inc: gguf/keys.tsv
$B/gguf/%_table.inc: gguf/%_table.awk
	@mkdir -p $(@D)
	awk -f $< $(filter %.tsv,$^) > $@.new && mv $@.new $@

$B/fs/layer/database.o: INC += -I$B
$B/fs/layer/database.o: $B/fs/layer/layer_schema.inc
$B/fs/layer/layer_schema.inc: fs/layer/schema.sql
	@mkdir -p $(@D)
	sed 's/  *--.*//; s/^--.*//; /^$$/d; s/.*/"&\\n"/' $< > $@.new && mv $@.new $@

$B/libgguf.a: $(GGUF_OBJECTS)
$B/libmeasure.a: $(MEASURE_OBJECTS)
$(foreach f,$(FOLDERS),$(eval $B/libfs-$f.a: \
	$(patsubst %.c,$B/%.o,$(wildcard fs/$f/*.c))))
$B/libhelpers.a: $(HELPERS_OBJECTS)
%.a:
	rm -f $@ && $(AR) rcs $@ $^

## programs

LIBS = $(call flags,--libs,$(PACKAGES))
MEASURE_LIBS = $(call flags,--libs,$(MEASURE_PACKAGES)) -lm
$B/organfs: $B/fs/main.o $(ALL_ROOMS)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lm
# The program is installed under three names, also mount.organfs and umount.fuse.organfs.
$B/organfs-umount: $B/mount-helpers/main.o $B/libhelpers.a $B/libfs-util.a $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^

## check

# Unit tests mirror modules: tests/unit/FOLDER/test_X.c is for FOLDER/X.c or fs/FOLDER/X.c. Those of
# a folder are one program, tests/unit/FOLDER/tests, which runs one of them at a time. It is linked
# with that folder and those below it, so that a dependency upwards does not link.
UNIT := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/*/test_*.c)))
UNIT_PROGRAMS := $(sort $(foreach u,$(UNIT),$B/tests/unit/$(dir $u)tests))
UNIT_LIBRARIES := $(filter gguf/% measure/%,$(UNIT))
# $(call unit_objects,FOLDER)
unit_objects = $(patsubst %,$B/tests/unit/%.o,$(filter $1/%,$(UNIT)))
# Test helpers that need only gguf/ and measure/, and those for fs/. A program gets only the objects
# of an archive that it uses.
UNIT_HELP := $(patsubst %,$B/tests/unit/%.o,gguf_bytes merges merges_whole mkgguf purified render zinputs)
UNIT_HELP_FS := $(filter-out $B/tests/unit/unit.o $(UNIT_HELP),$(patsubst %.c,$B/%.o,$(wildcard \
	tests/unit/*.c)))
$B/tests/unit/libunit.a: $(UNIT_HELP)
$B/tests/unit/libunit-fs.a: $(UNIT_HELP_FS)
UNIT_ARCHIVES := $B/tests/unit/unit.o $B/tests/unit/libunit.a
UNIT_FS_ARCHIVES := $B/tests/unit/unit.o $B/tests/unit/libunit-fs.a $B/tests/unit/libunit.a
$(UNIT_LIBRARIES:%=$B/tests/unit/%.o) $B/tests/unit/unit.o $(UNIT_HELP): \
	INC = -I. $(call flags,--cflags,cmocka libxxhash $(MEASURE_PACKAGES))
# The list of the cases of a test file is generated from it: see UNIT_MAIN() of tests/unit/unit.h.
$(UNIT:%=$B/tests/unit/%.o): $B/tests/unit/%.o: $B/tests/unit/%.cases.h
$B/tests/unit/%.cases.h: tests/unit/%.c tests/unit/cases.awk
	@mkdir -p $(@D)
	awk -f tests/unit/cases.awk $< > $@.new && mv $@.new $@
# The k-th allocation and the k-th fsync() fail on demand: see tests/unit/unit.h.
UNIT_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=strdup \
	-Wl,--wrap=fsync
# A wrapper calls the wrapped function, unless a test of the file sets another behaviour.
# A filesystem that shares blocks: tests/unit/reflink.h.
$B/tests/unit/assemble/tests: UNIT_LDFLAGS += \
	-Wl,--wrap=ioctl,--wrap=fallocate64,--wrap=copy_file_range,--wrap=sync_file_range \
	-Wl,--wrap=fstatfs64
# A filesystem that was shut down: test_disk. Waits that time out at once: test_in_flight.
$B/tests/unit/util/tests: UNIT_LDFLAGS += -Wl,--wrap=fstat64,--wrap=fstatfs64 \
	-Wl,--wrap=clock_gettime,--wrap=pthread_cond_timedwait
# An older kernel: test_page_cache, tests/unit/preadv_error.h. A curl that lacks options, and
# pauses without delay: test_remote_http. Waits of threads that a test controls:
# tests/unit/poll_wait.h.
$B/tests/unit/storage/tests: UNIT_LDFLAGS += -Wl,--wrap=preadv64v2,--wrap=syscall \
	-Wl,--wrap=fstatfs64,--wrap=geteuid,--wrap=curl_easy_setopt,--wrap=clock_gettime \
	-Wl,--wrap=curl_multi_poll,--wrap=cond_poll_wait
# Files of another mount: test_path_probe.
$B/tests/unit/paths/tests: UNIT_LDFLAGS += -Wl,--wrap=fgetxattr,--wrap=fstatfs64,--wrap=pthread_create
# A stage that cannot be read: test_layer_stage.
$B/tests/unit/layer/tests: UNIT_LDFLAGS += -Wl,--wrap=pread64
# Time that passes without requests: test_write_opens.
$B/tests/unit/tree/tests: UNIT_LDFLAGS += -Wl,--wrap=clock_gettime
$B/tests/unit/gguf/tests: $(call unit_objects,gguf) $(UNIT_ARCHIVES) $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) $(UNIT_LDFLAGS) -o $@ $^ $(call flags,--libs,cmocka libxxhash) -lm
$B/tests/unit/measure/tests: $(call unit_objects,measure) $(UNIT_ARCHIVES) $B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) $(UNIT_LDFLAGS) -o $@ $^ $(call flags,--libs,cmocka) $(MEASURE_LIBS)
# Many tests set up a model with grafts, which edit/ makes, so the tests of the rooms from base/ to
# check/ are linked with all of these rooms.
SCENES := base layer model lazy assemble report check diff
with_scene = $(call archives,report check diff) $(call with_below,edit)
unit_with = $(UNIT_FS_ARCHIVES) $(if $(filter $1,$(SCENES)),$(with_scene),$(call with_below,$1))
# $(eval $(call unit_of,FOLDER)): the rule for the tests of a folder of fs/.
define unit_of
$B/tests/unit/$1/tests: $(call unit_objects,$1) $(call unit_with,$1)
	$$(CC) $$(ALL_LDFLAGS) $$(UNIT_LDFLAGS) -o $$@ $$^ $$(LIBS) -lm $$(call flags,--libs,cmocka)
endef
$(foreach f,$(FOLDERS),$(eval $(call unit_of,$f)))
# The tests of mount-helpers read statuses written by fs/mount/unmount_status.c.
$B/tests/unit/mount-helpers/tests: $(call unit_objects,mount-helpers) $(UNIT_FS_ARCHIVES) \
		$B/fs/mount/unmount_status.o $B/libhelpers.a $B/libfs-util.a $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) $(UNIT_LDFLAGS) -o $@ $^ $(call flags,--libs,cmocka libxxhash)

FUZZ := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
# fuzz_X tests module X; fuzzers of fs/ are linked with more archives.
FUZZ_FS := $(foreach f,$(FUZZ),$(if $(wildcard fs/*/$(f:fuzz_%=%).c),$f))
FUZZ_GGUF := $(filter-out $(FUZZ_FS),$(FUZZ))
# ENGINE replaces the driver replay.c: -fsanitize=fuzzer, or a library, which may need a C++
# compiler as FUZZ_LINK.
ENGINE =
FUZZ_LINK = $(CC)
FUZZ_HELP := $(if $(ENGINE),,$B/tests/fuzz/replay.o) $B/tests/unit/render.o
$(FUZZ_GGUF:%=$B/tests/fuzz/%): %: %.o $(FUZZ_HELP) $B/libgguf.a
	$(FUZZ_LINK) $(ALL_LDFLAGS) $(ENGINE) -o $@ $^ $(call flags,--libs,libxxhash) -lm
$B/tests/fuzz/fuzz_ops: $B/tests/fuzz/kernel.o
$(FUZZ_FS:%=$B/tests/fuzz/%): %: %.o $(FUZZ_HELP) $B/tests/unit/libunit-fs.a \
		$B/tests/unit/libunit.a $(ALL_ROOMS)
	$(FUZZ_LINK) $(ALL_LDFLAGS) $(ENGINE) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -lm \
		$(call flags,--libs,cmocka)

# Programs of the mount tests: organfs with a disk that fails on demand (tests/tools/faults.c), with
# clocks that jump (clock.c), and others.
FAULTY_CALLS := write pwrite64 fsync ftruncate64 fallocate64 futimens openat64 mkdir mkdirat mknodat \
	rmdir unlinkat symlinkat linkat renameat renameat2 copy_file_range \
	ioctl sync_file_range pread64 preadv64v2 readlinkat fstat64 fstatat64 faccessat fdopendir readdir64
CLOCK_CALLS := clock_gettime time pthread_cond_timedwait curl_multi_poll
$B/tests/tools/organfs-faults: $B/fs/main.o $B/tests/tools/faults.o $B/tests/tools/clock.o \
		$(ALL_ROOMS)
	$(CC) $(ALL_LDFLAGS) $(FAULTY_CALLS:%=-Wl,--wrap=%) $(CLOCK_CALLS:%=-Wl,--wrap=%) -o $@ $^ \
		$(LIBS) -lm
$B/tests/tools/fsx $B/tests/tools/closes: %: %.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^
FSFUZZ := $(patsubst %.c,$B/%.o,$(wildcard tests/tools/fsfuzz/*.c))
$B/tests/tools/fsfuzz/fsfuzz: $(FSFUZZ)
	$(CC) $(ALL_LDFLAGS) -o $@ $^
# Preloaded into programs that have no sanitizer.
$B/tests/tools/nodirs.so: tests/tools/nodirs.c $B/flags
	@mkdir -p $(@D)
	$(CC) $(WARNINGS) $(CFLAGS) -shared -fPIC -o $@ $<
# Unmount helper that gives up after two seconds instead of an hour.
$B/tests/tools/impatient.o: mount-helpers/unmounting.c $B/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DPATIENCE_S=2 -I. -MMD -MP -c $< -o $@
$B/tests/tools/impatient: $B/tests/tools/impatient.o $B/mount-helpers/main.o $B/libhelpers.a $B/libfs-util.a $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^
$B/tests/tools/serve-file: $B/tests/tools/serve_file.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call flags,--libs,fuse3)
$B/tests/tools/organfs-disk: $B/tests/tools/disk.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call flags,--libs,fuse3)
# Without sanitizers, which would slow down every test.
$B/tests/tools/supervise: tests/tools/supervise.c fs/util/mountinfo.c fs/util/mountinfo.h $B/flags
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -I. -o $@ $(filter %.c,$^)
MOUNT_TOOLS := $(addprefix $B/tests/tools/,organfs-faults fsx fsfuzz/fsfuzz nodirs.so impatient \
	serve-file organfs-disk supervise closes)

# As many jobs as processors, unless make was given -j.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
.PHONY: programs mount-tools
programs: mount-tools $(UNIT_PROGRAMS) $(if $(SAN),$(FUZZ:%=$B/tests/fuzz/%))
mount-tools: all $(MOUNT_TOOLS)

# Sources to compile only for their warnings.
BENCHES := spans access zmeasure purify dequant quant
.PHONY: everything fuzzers
fuzzers: $(FUZZ:%=$B/tests/fuzz/%)
everything: programs fuzzers $(BENCHES:%=$B/tests/bench/%)

.PHONY: check check-release check-long check-changed check-unit check-unit-libraries check-fuzz \
	check-mount check-style check-install check-deb check-rpm check-image check-new-user \
	check-debian check-all-debians check-cross check-compilers check-oss-fuzz fuzz
SANITIZERS := address,undefined
SANITIZED = SAN=$(SANITIZERS)
IN_TURN = exec env MAKE='$(MAKE)' tests/in-turn
check: deps-check	## every test once, as CI runs it; as root it installs missing packages
	@$(IN_TURN) check-style '$(PARALLEL) mount-tools' '$(SANITIZED) $(PARALLEL) programs' \
		'$(SANITIZED) check-unit' '$(SANITIZED) check-fuzz FUZZ_SECONDS=1' \
		'$(SANITIZED) check-mount PLAIN=build/plain'

# Debian release in which the tests run in a new system, after README.md's commands in a new
# Debian 12. Empty: no system is made.
DEBIANS ?= trixie
IN_DEBIANS = $(if $(DEBIANS),check-new-user,check-deb) $(DEBIANS:%='check-debian SUITE=%')
check-release: deps-release	## packages, installation, other systems, and all tests in both builds
	@$(IN_TURN) check-style '$(PARALLEL) programs' check-install check-rpm $(IN_DEBIANS) check-image \
		check-unit 'check-mount RELEASE=1' '$(SANITIZED) $(PARALLEL) programs' \
		'$(SANITIZED) check-unit' '$(SANITIZED) check-fuzz' \
		'$(SANITIZED) check-mount RELEASE=1' check-compilers

check-long:	## hours: LONG=seconds for each long test, SEED= of the random one; with SAN= too
	@LONG=$(or $(LONG),3600) SEED=$(or $(SEED),$$(date +%s)) $(MAKE) check-mount \
		T='daemon/soak daemon/fsfuzz'

check-changed:	## style and the tests of the modules that differ from SINCE=origin/HEAD
	@exec env MAKE='$(MAKE)' tests/changed $(SINCE)

# Each test file, or fuzzer, is a separate target, so that they run in parallel with unmixed output.
EACH = +@exec $(MAKE) $(PARALLEL) --keep-going --output-sync --no-print-directory
check-unit:	## unit tests; U='edit/ util/' takes those of folders, T='pattern' the matching cases
	$(EACH) $(addprefix unit-of/,$(or $(filter $(or $(U:%=%%),%),$(UNIT)),$(error no unit test in $U)))
check-unit-libraries:	## those of gguf/ and measure/, without FUSE
	$(EACH) $(UNIT_LIBRARIES:%=unit-of/%)
.PHONY: $(UNIT:%=unit-of/%) $(FUZZ:%=fuzz-of/%)
$(foreach u,$(UNIT),$(eval unit-of/$u: $B/tests/unit/$(dir $u)tests))
$(UNIT:%=unit-of/%):
	@exec $(EMULATOR) $< $(@F) $(if $T,'$T')

# Fuzzers sync every file they write, so use a directory in memory if there is one.
FUZZ_TMP = TMPDIR=$(or $(MEMORY_TMP),$(wildcard /dev/shm),/tmp)
check-fuzz:	## the fuzzers' corpora and some seconds of mutations
	$(EACH) $(FUZZ:%=fuzz-of/%)
$(FUZZ:%=fuzz-of/%): fuzz-of/%: $B/tests/fuzz/%
	@exec env $(FUZZ_TMP) $< $(or $(FUZZ_SECONDS),3) tests/fuzz/corpus tests/malformed \
		$(wildcard tests/fuzz/seeds/$*)

# PLAIN=build/plain: a build for the tests that cannot use the sanitizers of this one.
check-mount: mount-tools	## real mounts driven by real tools; T='pattern' runs the matching ones
	@exec env ORGANFS=$(CURDIR)/$B/organfs $(PLAIN:%=ORGANFS_PLAIN=$(CURDIR)/%/organfs) \
		RELEASE=$(RELEASE) tests/mount/run $(T:%='%')

check-style:	## formatting, line length, manual pages, words that do not belong here
	@tests/style

check-install: all	## install, uninstall, and nothing is left
	@MAKE='$(MAKE)' tests/install

# A skipped test prints its reason, and is no failure.
check-deb: dist	## the Debian package: built, looked at by lintian
	@tests/deb || [ $$? = 77 ]

check-rpm:	## the RPM package: built, compared with what make install installs
	@MAKE='$(MAKE)' tests/rpm || [ $$? = 77 ]

check-image:	## the image of a container: built by buildah, packs and mounts (root)
	@MAKE='$(MAKE)' tests/image || [ $$? = 77 ]

check-new-user: check-deb	## README.md's commands in a new Debian 12 (root, debootstrap)
	@tests/debian bookworm user $(DIST) $$(find build/deb -name 'organfs_*.deb' 2>/dev/null) || \
		[ $$? = 77 ]

check-debian: dist	## tests in a new Debian, SUITE=trixie, sid or bookworm; PART=all for all of them
	@tests/debian $(or $(SUITE),trixie) $(or $(PART),quick) $(DIST) || [ $$? = 77 ]

check-all-debians: dist	## all tests in each release of Debian
	@rc=0; for d in bookworm trixie sid; do \
		tests/debian $$d all $(DIST) || [ $$? = 77 ] || rc=1; done; exit $$rc

# Not part of check-release, because it takes long.
check-cross: dist	## arm64, armhf and s390x: built, and unit tests run by qemu (root, debootstrap)
	@rc=0; tests/cross $(DIST) || rc=$$?; tests/in-turn; [ $$rc = 0 ] || [ $$rc = 77 ]

.PHONY: mutants
mutants:	## N=200 random changes of one operator, SEED=: which do the tests not notice?
	@nice tests/mutants $(or $N,200) $(SEED)

# Each compiler builds in separate trees. Some compilers have several names.
COMPILERS = $(sort $(realpath $(wildcard $(foreach c,gcc clang,/usr/bin/$c /usr/bin/$c-[0-9]*))))
check-compilers:	## every gcc and clang that is here builds everything without a warning
	@set -e; for cc in $(COMPILERS); do for san in '' address,undefined; do \
		$(MAKE) $(PARALLEL) CC=$$cc SAN=$$san CFLAGS='-O2 -g -Werror' \
			B=build/compilers$$cc-$${san:-plain} everything; done; done

# The longest input is as in replay.c. A run begins with the inputs that the previous one found.
FUZZER = $(or $F,fuzz_reader)
FUZZ_DICT = $(or $(wildcard tests/fuzz/$(FUZZER).dict),tests/fuzz/gguf.dict)
fuzz:	## libFuzzer (clang) on F=fuzz_reader until interrupted, or for FUZZ_SECONDS
	@mkdir -p build/fuzz/found/$(FUZZER)
	$(MAKE) $(PARALLEL) CC=clang SAN=$(SANITIZERS) CFLAGS='-O1 -g -fsanitize=fuzzer-no-link' \
		ENGINE=-fsanitize=fuzzer B=build/fuzz build/fuzz/tests/fuzz/$(FUZZER)
	$(FUZZ_TMP) build/fuzz/tests/fuzz/$(FUZZER) $(if $(FUZZ_SECONDS),-max_total_time=$(FUZZ_SECONDS)) \
		-max_len=65536 -dict=$(FUZZ_DICT) -artifact_prefix=build/fuzz/$(FUZZER)- \
		build/fuzz/found/$(FUZZER) tests/fuzz/corpus tests/malformed \
		$(wildcard tests/fuzz/seeds/$(FUZZER))

# Test the files for OSS-Fuzz, tests/fuzz/oss-fuzz. Not part of check, because it builds everything
# once more.
check-oss-fuzz:	## OSS-Fuzz's build of the fuzzers (clang, zip): builds, and each runs
	@tests/fuzz/oss-fuzz/check || [ $$? = 77 ]

## bench

.PHONY: bench
# SIZE of the large model, ROUNDS per median, PART='reads grafts ...' for some benchmarks only;
# RESULTS=1 writes tests/bench/RESULTS.md.
bench: $B/organfs $(patsubst %,$B/tests/bench/%,spans access purify)	## speed, as ratios in one run
	@BUILD=$(CURDIR)/$B tests/bench/run $(SIZE:%=--size %) $(ROUNDS:%=--rounds %) \
		$(if $(RESULTS),--results) $(PART)

$B/tests/bench/spans: $B/tests/bench/spans.o $(call with_below,storage)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lm

$B/tests/bench/merge: $B/tests/bench/merge.o $(call with_below,merge)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lm

$B/tests/bench/zmeasure $B/tests/bench/purify: $B/tests/bench/%: $B/tests/bench/%.o $B/libgguf.a \
		$B/libmeasure.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(MEASURE_LIBS)
$B/tests/bench/access: $B/tests/bench/access.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -pthread

$B/tests/bench/dequant: $B/tests/bench/dequant.o $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call flags,--libs,libxxhash) -lm
$B/tests/bench/quant: $B/tests/bench/quant.o $B/libgguf.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lm
.PHONY: bench-zmeasure bench-dequant bench-quant bench-assemble bench-purify bench-views
bench-assemble: $B/organfs	## how fast a model is assembled; sharing blocks needs root
	@ORGANFS=$(CURDIR)/$B/organfs tests/bench/assemble

bench-dequant: $B/tests/bench/dequant	## how fast each type is decoded
	@$<

bench-quant: $B/tests/bench/quant	## how fast each type is encoded
	@$<

bench-purify: $B/tests/bench/purify	## how fast rows are purified, merged and quantised
	@$< && tests/bench/lora

bench-views: $B/organfs $B/tests/bench/merge	## how fast the files of .views are made, and with how much memory
	@ORGANFS=$(CURDIR)/$B/organfs tests/bench/views

bench-zmeasure: $B/tests/bench/zmeasure	## what measuring one tensor costs
	@$<

## demo

.PHONY: deps deps-check deps-debian deps-release demo
deps:	## install what building needs, where it is missing (root, apt)
	@tests/install-deps build

deps-check:	## install what make check needs too
	@tests/install-deps build check

deps-debian:	## install what make check-debian needs
	@tests/install-deps debian

deps-release:	## install what make check-release needs
	@tests/install-deps build check release debian

demo: deps	## build, mount a small model, graft, run, assemble, clean up
	@MAKE='$(MAKE)' tests/in-turn '-s $(PARALLEL) all'
	@ORGANFS=$(CURDIR)/$B/organfs tests/demo

.PHONY: pictures
pictures: $B/organfs	## make the pictures of README.md anew, in mount-helpers/
	@ORGANFS=$(CURDIR)/$B/organfs tests/pictures

## install

$(if $(word 3,$(PREFIX) $(SBINDIR)),$(error PREFIX and SBINDIR cannot have blanks in them))
BINDIR := $(PREFIX)/bin
DATADIR := $(PREFIX)/share
MANDIR := $(DATADIR)/man
DOCDIR := $(DATADIR)/doc/organfs
EXAMPLES := $(DOCDIR)/examples
# Directory of systemd's user units; below ~/.local systemd searches only share.
UNITDIR := $(if $(filter /usr /usr/local,$(PREFIX)),$(PREFIX)/lib,$(DATADIR))/systemd/user
# Directories in which shells look for completions. Debian's zsh has another one for packages.
BASHDIR := $(DATADIR)/bash-completion/completions
ZSHDIR := $(DATADIR)/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
FISHDIR := $(DATADIR)/fish/vendor_completions.d
FISHCONFDIR := $(DATADIR)/fish/vendor_conf.d
# Completions that bash and fish look up by the command's name.
COMPLETED := organfs organ-dissect organ-serve organ-stream organfs-open organfs-umount
PAGE := $(wildcard mount-helpers/organ-serve-page/*)
SERVE := $(wildcard mount-helpers/organ-serve-*.sh)
# A line for each file: mode, source, destination.
INSTALLED := \
	755:$B/organfs:$(BINDIR)/organfs \
	755:mount-helpers/organ-dissect:$(BINDIR)/organ-dissect \
	755:mount-helpers/organ-serve:$(BINDIR)/organ-serve \
	755:mount-helpers/organ-serve-put:$(DATADIR)/organfs/organ-serve-put \
	$(foreach f,$(SERVE),644:$f:$(DATADIR)/organfs/$(notdir $f)) \
	$(foreach f,$(PAGE),644:$f:$(DATADIR)/organfs/organ-serve-page/$(notdir $f)) \
	644:mount-helpers/organfs.magic:$(DATADIR)/organfs/organfs.magic \
	644:mount-helpers/organ-serve.1:$(MANDIR)/man1/organ-serve.1 \
	755:mount-helpers/organ-stream:$(BINDIR)/organ-stream \
	755:mount-helpers/organfs-open:$(BINDIR)/organfs-open \
	755:mount-helpers/organfs-thumbnailer:$(BINDIR)/organfs-thumbnailer \
	644:mount-helpers/organfs.desktop:$(DATADIR)/applications/organfs.desktop \
	644:mount-helpers/organfs.thumbnailer:$(DATADIR)/thumbnailers/organfs.thumbnailer \
	644:mount-helpers/organfs-mime.xml:$(DATADIR)/mime/packages/organfs.xml \
	644:mount-helpers/organfs.svg:$(DATADIR)/icons/hicolor/scalable/apps/organfs.svg \
	644:mount-helpers/application-x-gguf.svg:$(DATADIR)/icons/hicolor/scalable/mimetypes/application-x-gguf.svg \
	755:$B/organfs-umount:$(BINDIR)/organfs-umount \
	755:$B/organfs-umount:$(SBINDIR)/mount.organfs \
	755:$B/organfs-umount:$(SBINDIR)/umount.fuse.organfs \
	644:mount-helpers/organ-dissect.1:$(MANDIR)/man1/organ-dissect.1 \
	644:mount-helpers/organ-stream.1:$(MANDIR)/man1/organ-stream.1 \
	644:mount-helpers/organfs.1:$(MANDIR)/man1/organfs.1 \
	644:mount-helpers/organfs-open.1:$(MANDIR)/man1/organfs-open.1 \
	644:mount-helpers/organfs-thumbnailer.1:$(MANDIR)/man1/organfs-thumbnailer.1 \
	644:mount-helpers/organfs-umount.1:$(MANDIR)/man1/organfs-umount.1 \
	644:mount-helpers/organfs.5:$(MANDIR)/man5/organfs.5 \
	644:mount-helpers/organfs-faq.7:$(MANDIR)/man7/organfs-faq.7 \
	644:mount-helpers/organfs-recipes.7:$(MANDIR)/man7/organfs-recipes.7 \
	644:mount-helpers/umount.fuse.organfs.8:$(MANDIR)/man8/umount.fuse.organfs.8 \
	644:mount-helpers/mount.organfs.8:$(MANDIR)/man8/mount.organfs.8 \
	644:mount-helpers/organfs@.service:$(UNITDIR)/organfs@.service \
	644:mount-helpers/examples/srv-models-scribe.mount:$(EXAMPLES)/srv-models-scribe.mount \
	644:mount-helpers/examples/srv-models-scribe.automount:$(EXAMPLES)/srv-models-scribe.automount \
	$(COMPLETED:%=644:mount-helpers/completion/organfs.bash:$(BASHDIR)/%) \
	$(COMPLETED:%=644:mount-helpers/completion/organfs.fish:$(FISHDIR)/%.fish) \
	644:mount-helpers/completion/organfs.zsh:$(ZSHDIR)/_organfs \
	644:mount-helpers/completion/unlisted.bash:$(DATADIR)/organfs/unlisted.bash \
	644:mount-helpers/completion/unlisted.zsh:$(DATADIR)/organfs/unlisted.zsh \
	644:mount-helpers/completion/unlisted.fish:$(FISHCONFDIR)/organfs.fish \
	644:README.md:$(DOCDIR)/README.md \
	644:LICENSE:$(DOCDIR)/LICENSE

field = $(word $1,$(subst :, ,$2))
# A destination below DESTDIR, quoted as one word for the shell.
there = '$(subst ','\'',$(DESTDIR)$1)'
define install_line
	@$(INSTALL) -D -m $(call field,1,$1) $(call field,2,$1) $(call there,$(call field,3,$1))

endef

# Release 0.1.0 installed a link there for all FUSE filesystems. Another program's helper of that
# name stays.
UMOUNT_FUSE := $(call there,$(SBINDIR)/umount.fuse)
REMOVE_UMOUNT_FUSE = @[ "$$(readlink $(UMOUNT_FUSE))" != umount.fuse.organfs ] || rm -f $(UMOUNT_FUSE)

# Update the caches of a live system, but not those of a tree that becomes a package.
UPDATE_CACHES = @$(if $(DESTDIR),:,mount-helpers/update-caches $(DATADIR))
# List missing packages only on this machine, not for a DESTDIR.
SAY_NEEDS = @$(if $(DESTDIR),:,mount-helpers/needs)
define SAY_STAYS
@$(if $(DESTDIR),:,printf '%s\n' \
	'Running mounts stay: findmnt -t fuse.organfs lists them, umount MOUNTPOINT ends one.' \
	'Grafts and settings of each user stay: rm -r ~/.local/state/organfs ~/.config/organfs*')
endef

.PHONY: install uninstall list-installed
install: all	## honours PREFIX, DESTDIR and SBINDIR
	$(foreach f,$(INSTALLED),$(call install_line,$f))
	$(REMOVE_UMOUNT_FUSE)
	$(UPDATE_CACHES)
	$(SAY_NEEDS)

# Remove directories that become empty, except those that every system has.
INSTALLED_DIRS = $(sort $(foreach f,$(INSTALLED),$(patsubst %/,%,$(dir $(call field,3,$f)))))
uninstall:	## remove what install put there
	$(REMOVE_UMOUNT_FUSE)
	rm -f $(foreach f,$(INSTALLED),$(call there,$(call field,3,$f)))
	$(UPDATE_CACHES)
	@for dir in $(filter-out $(BINDIR) $(SBINDIR),$(INSTALLED_DIRS)); do \
		case $$dir in \
		$(MANDIR)/*) kept=$(MANDIR) ;; \
		$(DATADIR)/*) kept=$(DATADIR) ;; \
		$(PREFIX)/lib/*) kept=$(PREFIX)/lib ;; \
		*) continue ;; \
		esac; \
		(cd $(call there)$$kept && rmdir -p $${dir#$$kept/}) 2>/dev/null; \
	done; true
	$(SAY_STAYS)

list-installed:
	@printf '%s %s\n' $(foreach f,$(INSTALLED),$(call field,1,$f) $(call field,3,$f))

## package

DIST := build/organfs-$(VERSION).tar.gz
# The files of the source, without other files in the directory.
SOURCE := .ci .clang-format .editorconfig .github .gitignore CHANGELOG.md LICENSE Makefile README.md \
	fs gguf measure mount-helpers tests
# Time of all files in the archive: that of the last commit, or without git the release's.
SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell \
	date -u +%s -d "$$(sed -n 's/^\#\# \[.*\] - //p' CHANGELOG.md | head -n 1)"))

.PHONY: version dist deb rpm
version:	## the version, which is said in the line VERSION of this file
	@echo $(VERSION)

dist:	## the source as an archive, in build/: the same bytes of the same source
	@mkdir -p build
	tar --create --file=$(DIST:.gz=) --transform='s,^,organfs-$(VERSION)/,' --sort=name \
		--format=gnu --mtime=@$(SOURCE_DATE_EPOCH) --mode=u=rwX,go=rX \
		--owner=root:0 --group=root:0 --exclude=__pycache__ $(SOURCE)
	gzip --no-name --best --force $(DIST:.gz=)

# A package does not depend on the build options given here.
CLEANLY := env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u MAKELEVEL -u SAN -u PREFIX -u SBINDIR \
	-u DESTDIR -u SOURCE_DATE_EPOCH -u CC -u CFLAGS -u LDFLAGS -u AR -u B
deb: dist	## Debian packages of source and program, in build/deb/ (debhelper, libcmocka-dev)
	@command -v dpkg-buildpackage >/dev/null || \
		{ echo 'make deb needs build-essential, debhelper and libcmocka-dev'; exit 1; }
	rm -rf build/deb
	@mkdir -p build/deb
	cp $(DIST) build/deb/organfs_$(VERSION).orig.tar.gz
	tar --extract --file=$(DIST) --directory=build/deb
	cp -R mount-helpers/debian build/deb/organfs-$(VERSION)/debian
	cd build/deb/organfs-$(VERSION) && $(CLEANLY) dpkg-buildpackage --no-sign

# Use RPMFLAGS=--nodeps if the libraries are not installed as RPM packages.
RPMFLAGS ?=
rpm: dist	## RPM packages of source and program, in build/rpm/ (rpm-build)
	rm -rf build/rpm
	$(CLEANLY) rpmbuild -ba $(RPMFLAGS) --define '_topdir $(CURDIR)/build/rpm' \
		--define '_sourcedir $(CURDIR)/build' mount-helpers/packaging/organfs.spec

# CONTAINER=docker selects another program, BASE=debian:sid another base image.
CONTAINER ?= $(firstword $(foreach c,buildah podman docker,$(shell command -v $c)))
IMAGEFLAGS ?=
.PHONY: image
image: dist	## the image organfs of a container (buildah, podman or docker)
	@[ -n '$(CONTAINER)' ] || { echo 'make image needs buildah, podman or docker'; exit 1; }
	rm -rf build/image
	@mkdir -p build/image
	tar --extract --file=$(DIST) --directory=build/image --strip-components=1
	$(CONTAINER) build $(IMAGEFLAGS) $(BASE:%=--build-arg BASE=%) \
		--build-arg VERSION=$(VERSION) --tag organfs:$(VERSION) --tag organfs \
		--file build/image/mount-helpers/packaging/Containerfile build/image

## clean

.PHONY: clean help compile_commands.json
clean:	## remove everything that was built
	rm -rf build

compile_commands.json:	## for clangd and clang-tidy
	$(MAKE) clean
	bear -- $(MAKE) all

help:	## this list
	@sed -n 's/^\([a-z_.-]*\):.*	## \(.*\)/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 26

-include $(wildcard $B/*/*.d $B/*/*/*.d $B/*/*/*/*.d)
