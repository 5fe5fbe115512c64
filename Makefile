# SPDX-License-Identifier: Apache-2.0
# One non-recursive Makefile. Objects of each flavour are in build/<flavour>/; nothing is written outside build/.

SHELL := /bin/bash
FLAVOUR ?= release# release, asan, tsan, coverage; fuzz with CC=clang
CC      ?= gcc
PREFIX  ?= /usr
DESTDIR ?=
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG   := $(findstring clang,$(notdir $(CC)))
AR      := $(if $(CLANG),llvm-ar,gcc-ar)
B       := build/$(FLAVOUR)$(if $(CLANG),-clang)

PACKAGES := libcurl zlib libdeflate libisal libconfig libsystemd libcjson expat OpenCL libjpeg spng libutf8proc hdf5-serial # mbedTLS and libcsv have no .pc file
PKG_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
# Only kiln-ranks.so and a benchmark are linked with Open MPI.
MPI_CFLAGS := $(shell pkg-config --cflags ompi-c 2>/dev/null)
MPI_LIBS   := $(shell pkg-config --libs ompi-c 2>/dev/null)
PKG_LIBS   := -lcurl -lmbedtls -lmbedx509 -lmbedcrypto -larchive -lz -ldeflate -lisal -lconfig -lsystemd -lcjson -lexpat -ljpeg -lspng -lcsv -lutf8proc -lOpenCL -lhdf5_serial -lm

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wstrict-prototypes -Wmissing-prototypes -Werror
CPPFLAGS := -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=120 -Ifirmware -I. $(PKG_CFLAGS)
# -ffile-prefix-map: the path of the build folder changes no byte of the result.
CFLAGS   := -std=gnu17 -g -ffile-prefix-map=$(CURDIR)=. $(WARNINGS) -ffunction-sections -fdata-sections -ffp-contract=off
LDFLAGS  := -Wl,--as-needed -Wl,--gc-sections -Wl,--build-id=sha1 -pthread

ifeq ($(FLAVOUR),release)
CFLAGS   += -O2 -flto=auto -ffat-lto-objects -fstack-protector-strong -fPIE -fstack-clash-protection -fcf-protection
CPPFLAGS += -D_FORTIFY_SOURCE=2
LDFLAGS  += -flto=auto -O2 -pie -Wl,-z,relro,-z,now
# With LTO gcc 12 warns wrongly: it does not see that a function of another file sets its output where it returns 0. The
# warning stays on when a single file is compiled.
LDFLAGS  += -Wno-maybe-uninitialized
ifneq ($(CLANG),)
CFLAGS   := $(subst -flto=auto -ffat-lto-objects,-flto=thin,$(CFLAGS))
LDFLAGS  := $(subst -flto=auto,-flto=thin -fuse-ld=lld,$(LDFLAGS))
endif
else ifeq ($(FLAVOUR),asan)
CFLAGS   += -g1 -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
LDFLAGS  += -fsanitize=address,undefined
else ifeq ($(FLAVOUR),tsan)
CFLAGS   += -O1 -fno-omit-frame-pointer -fsanitize=thread
LDFLAGS  += -fsanitize=thread
else ifeq ($(FLAVOUR),coverage)
CFLAGS   := $(filter-out -ffile-prefix-map=%,$(CFLAGS)) -O0 --coverage -fprofile-update=atomic
LDFLAGS  += --coverage
else ifeq ($(FLAVOUR)$(if $(CLANG),-clang),fuzz-clang)
CFLAGS   += -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS  += -fsanitize=fuzzer,address,undefined
else
$(error FLAVOUR is '$(FLAVOUR)'; it is one of release, asan, tsan, coverage, and with CC=clang fuzz)
endif

# ---- Products: one archive per layer, one line per program -----------------------------------------------------------

LAYERS := core data model drivers preflight trained
src-core    := $(wildcard firmware/core/*/*.c)
src-data    := $(wildcard firmware/data/*.c firmware/data/*/*.c)
src-model   := $(wildcard firmware/model/*.c firmware/model/*/*.c)
src-drivers := $(wildcard drivers/*/*.c)
src-preflight := $(wildcard firmware/preflight/*.c)
src-trained := $(wildcard firmware/trained/*.c)
gen-model   := $(patsubst firmware/model/kernels/%.cl,$(B)/gen/%.cl.c,$(wildcard firmware/model/kernels/*.cl))

# In the linker's order: each layer after the layers that use it.
ARCHIVES := $(foreach l,trained preflight model data drivers core,$(B)/lib$(l).a)
ifeq ($(FLAVOUR),coverage)
ARCHIVES += $(B)/obj/tests/coverage/dump.o
endif

PROGRAMS :=
define program # name, folder of its sources
ifneq ($$(wildcard $(2)/main.c),)
PROGRAMS += $$(B)/bin/$(1)
$$(B)/bin/$(1): $$(patsubst %.c,$$(B)/obj/%.o,$$(wildcard $(2)/*.c $(2)/*/*.c)) $$(ARCHIVES)
	$$(link)
endif
endef

all: programs

define link
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(LINK_LTO) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LINK_EXTRA) $(PKG_LIBS)
endef

$(eval $(call program,kiln,firmware/cli))
$(eval $(call program,kiln-fetchd,firmware/fetchd))
$(eval $(call program,kiln-traind,firmware/traind))
$(eval $(call program,kiln-uploadd,firmware/uploadd))
$(eval $(call program,kiln-oneshot,firmware/oneshot))
$(eval $(call program,kiln-steer,firmware/steer))
$(eval $(call program,kiln-generator,firmware/generator))
$(eval $(call program,kiln-controld,firmware/controld))
$(eval $(call program,kiln-import,firmware/import))

RANKS_LIBRARY := $(B)/bin/kiln-ranks.so

UNIT_TESTS  := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/*.c))
FUZZERS     := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/*.c))
BENCHES     := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))
UNTIMED     := $(BENCHES:$(B)/bench/%=$(B)/untimed/%)
TEST_HELPERS := $(patsubst tests/system/%.c,$(B)/system/%,$(wildcard tests/system/*.c)) \
	$(patsubst tests/system/preload/%.c,$(B)/system/preload/%.so,$(wildcard tests/system/preload/*.c))

programs: $(PROGRAMS) $(RANKS_LIBRARY)
tests: unit-tests $(TEST_HELPERS)
unit-tests: $(UNIT_TESTS)
fuzzers: $(FUZZERS) # FLAVOUR=fuzz, or asan for the corpora alone
benches: $(BENCHES)
untimed: $(UNTIMED)

# ---- Rules ----------------------------------------------------------------------------------------------------------

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/gen/%.o: $(B)/gen/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

kernels := firmware/model/kernels

# An OpenCL source becomes `const char kernel_NAME[]` and `const size_t kernel_NAME_bytes`.
$(B)/gen/%.cl.c: $(kernels)/%.cl $(wildcard $(kernels)/*.h $(kernels)/*.clh) tools/kernel-text
	@mkdir -p $(@D)
	@echo "  EMBED $<"
	$(Q)tools/kernel-text $< >$(@:.c=)
	$(Q){ echo '#include <stddef.h>'; \
	  echo 'extern const char kernel_$*[]; extern const size_t kernel_$*_bytes;'; \
	  echo 'const char kernel_$*[] = {'; od -v -An -tx1 $(@:.c=) | sed 's/ /,0x/g;s/^,//;s/$$/,/'; \
	  echo '0}; const size_t kernel_$*_bytes = sizeof(kernel_$*) - 1;'; } > $@

define archive
$$(B)/lib$(1).a: $$(patsubst %.c,$$(B)/obj/%.o,$$(src-$(1))) $$(patsubst $$(B)/gen/%.c,$$(B)/obj/gen/%.o,$$(gen-$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call archive,$(l))))

# LTO only for the programs that every record and every batch passes, and for benchmarks: with LTO, a link takes 10 to 40 seconds.
# `make test` times no benchmark, so its benchmarks are linked without LTO, into a folder of their own.
ifeq ($(CLANG),)
$(filter-out %/kiln-fetchd %/kiln-traind,$(PROGRAMS)) $(UNIT_TESTS) $(TEST_HELPERS) $(UNTIMED): LINK_LTO = -fno-lto
endif
$(UNIT_TESTS): LINK_EXTRA = -lcmocka
$(B)/unit/%: $(B)/obj/tests/unit/%.o $(ARCHIVES)
	$(link)

# Tests of threads run under ThreadSanitizer, too. Only the layers that they use are compiled for it.
THREADED := crc32c network ring_stress
$(THREADED:%=$(B)/unit/%): $(B)/unit/%: $(B)/obj/tests/unit/%.o $(filter-out %/libtrained.a %/libpreflight.a %/libmodel.a,$(ARCHIVES))
	$(link)

# Unit tests of the command line link all its objects except the one with main().
$(filter $(B)/unit/cli_%,$(UNIT_TESTS)): $(patsubst %.c,$(B)/obj/%.o,firmware/cli/verb_list.c $(wildcard firmware/cli/*/*.c))

# Tests of the import link its objects except the one with main().
$(filter $(B)/unit/import_%,$(UNIT_TESTS)) $(B)/fuzz/keras: $(patsubst %.c,$(B)/obj/%.o,$(wildcard firmware/import/*/*.c))

# Fuzzers of tables link the objects for tables that need nothing else of the command line.
$(B)/fuzz/follow $(B)/fuzz/table_rows: $(patsubst %.c,$(B)/obj/%.o,$(filter-out %/kind.c %/read.c,$(wildcard firmware/cli/table/*.c)))

# With libFuzzer's main(), or one of ours that gives a target the inputs of its corpus alone.
$(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(if $(filter fuzz,$(FLAVOUR)),,$(B)/obj/tests/fuzz/replay/main.o) $(ARCHIVES)
	$(link)

$(B)/bench/%: $(B)/obj/tests/bench/%.o $(ARCHIVES)
	$(link)

$(B)/untimed/%: $(B)/obj/tests/bench/%.o $(ARCHIVES)
	$(link)

$(B)/obj/tests/bench/ranks_exchange.o: CPPFLAGS += $(MPI_CFLAGS)
$(B)/bench/ranks_exchange $(B)/untimed/ranks_exchange: LINK_EXTRA = $(MPI_LIBS)

$(B)/system/%: $(B)/obj/tests/system/%.o $(ARCHIVES)
	$(link)

# Libraries for LD_PRELOAD: compiled the same way in every flavour, without Kiln's objects.
$(B)/system/preload/%.so: tests/system/preload/%.c
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) $(CPPFLAGS) $(WARNINGS) -O2 -fPIC -shared -o $@ $< -ldl

# What a run of several ranks loads: compiled the same way in every flavour, too.
RANKS_OBJECTS := $(patsubst %.c,$(B)/obj/%.o,$(wildcard drivers/ranks/mpi/*.c))
$(RANKS_OBJECTS): CPPFLAGS += $(MPI_CFLAGS)
$(RANKS_OBJECTS): CFLAGS := -std=gnu17 -g -ffile-prefix-map=$(CURDIR)=. $(WARNINGS) -O2 -fPIC -fvisibility=hidden
$(RANKS_LIBRARY): $(RANKS_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) -O2 -shared -Wl,-z,relro,-z,now -Wl,--build-id=sha1 -o $@ $^ $(MPI_LIBS)

clean:
	rm -rf build

# ---- Goals that people call ------------------------------------------------------------------------------------------

# Every goal that needs packages depends on `deps`, which takes no time when nothing is missing.
deps:
	@tools/deps/install build

deps-test:
	@tools/deps/install build store test

# With DESTDIR no packages are installed: they would go to this machine, not below DESTDIR.
install: deps
	$(if $(DESTDIR),,@tools/deps/install box)
	@$(MAKE) --no-print-directory -s -j$(shell nproc) programs
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/kiln $(DESTDIR)/etc/kiln
	install -m 755 $(B)/bin/kiln $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(filter-out $(B)/bin/kiln,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/libexec/kiln/
	install -m 644 $(RANKS_LIBRARY) $(DESTDIR)$(PREFIX)/libexec/kiln/
	install -m 644 config/kiln.conf $(DESTDIR)/etc/kiln/kiln.conf.reference
	rootfs/install "$(DESTDIR)" "$(PREFIX)"

# make demo [IMDB=DIR | PICTURES=DIR] [STORE=s3]
demo: deps
	@$(if $(filter s3,$(STORE)),tools/deps/install store)
	@$(MAKE) --no-print-directory -s -j$(shell nproc) programs
	@tools/demo --bin $(B)/bin $(if $(IMDB),--imdb $(IMDB)) $(if $(PICTURES),--pictures $(PICTURES)) $(if $(STORE),--store $(STORE))

# A bootable disk image, below build/image: make image [GPU=cpu|intel|nvidia] [KERNEL=amd64|cloud] [MIRROR=URL]
GPU    ?= cpu
KERNEL ?= amd64
IMAGE  := build/image/kiln-$(GPU)-$(KERNEL).img
image: deps
	@tools/deps/install image
	@$(MAKE) --no-print-directory -s -j$(shell nproc) programs
	@GPU=$(GPU) KERNEL=$(KERNEL) MIRROR=$(MIRROR) SECURITY_MIRROR=$(SECURITY_MIRROR) tools/mkimage $(IMAGE)

# The signed update bundle of the image: make bundle [KEY=FILE CERT=FILE]. A box accepts a bundle if KEYRING=FILE of its
# `make image` holds the certificate of the signer.
BUNDLE := $(IMAGE:.img=.raucb)
export KEY CERT KEYRING
bundle: deps
	@tools/deps/install image
	@$(if $(wildcard $(IMAGE)),,$(MAKE) --no-print-directory image)
	@tools/mkbundle $(IMAGE) $(BUNDLE)

# make flash DEV=/dev/sdX [CONF=my.conf] [FOLDER=DIR] [CONFIRM=/dev/sdX]
flash: deps
	@tools/deps/install image
	@$(MAKE) --no-print-directory -s -j$(shell nproc) programs
	@$(if $(wildcard $(IMAGE)),,$(MAKE) --no-print-directory image)
	@KILN_BIN=$(B)/bin CONFIRM=$(CONFIRM) tools/flash $(IMAGE) "$(DEV)" "$(CONF)" "$(FOLDER)"

# Runs the image in QEMU, on this terminal: make vm [CONF=my.conf] [FOLDER=DIR] [PORT=7443]
vm: deps
	@tools/deps/install image
	@$(MAKE) --no-print-directory -s -j$(shell nproc) programs
	@$(if $(wildcard $(IMAGE)),,$(MAKE) --no-print-directory image)
	@KILN_BIN=$(B)/bin PORT=$(PORT) tools/vm $(IMAGE) "$(CONF)" "$(FOLDER)"

# Boots the image in QEMU, without acceleration, one machine at a time. Takes minutes.
IMAGE_TESTS := $(filter-out %lib.sh %/power.sh %/replay.sh,$(sort $(wildcard tests/image/*.sh)))
in-qemu = KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) KILN_TEST_JOBS=1 KILN_TEST_LIMIT_S=$(1) tests/run
test-image: deps-test programs tests
	@tools/deps/install image
	@$(call in-qemu,3600) $(foreach t,$(IMAGE_TESTS),image/$(basename $(notdir $t)):$t)

# Power cuts. First without QEMU: rebuilds the disk at every flush of a run, and continues the run from KILN_POWER_CUTS (200) of
# these disks. Then in QEMU: checks the disk at every flush of a boot with a run and an update, and kills the machine
# KILN_POWER_KILLS (20) times, each after it has frozen the machine KILN_POWER_FREEZES (9) times to check its disk. Takes hours.
test-power: deps-test programs tests
	@tools/deps/install image
	@$(call in-qemu,86400) image/power-replay:tests/image/replay.sh image/power-cuts:tests/image/power.sh

# Checks that clang-tidy adds or leaves out. `make test` leaves out clang's analyzer, which takes most of the time of `make lint`.
LINT_CHECKS ?=

FORMATTED := $(shell git ls-files '*.c' '*.h' 2>/dev/null)
lint: deps-test
	@$(MAKE) --no-print-directory -s programs
	KILN_OBJECTS=$(B)/obj tools/check
	clang-format --dry-run -Werror $(FORMATTED)
	@$(MAKE) --no-print-directory -s $(gen-model)
	printf '%s\n' $(filter %.c,$(FORMATTED)) | xargs -P $(shell nproc) -n 8 \
		sh -c 'clang-tidy --quiet $(LINT_CHECKS:%=--checks=%) "$$@" -- -std=gnu17 $(CPPFLAGS) $(MPI_CFLAGS) $(filter-out -Werror,$(WARNINGS)) \
			-Xclang -analyzer-config -Xclang max-nodes=225000' tidy

# Every unit test that opens a device, on every implementation of OpenCL that can be installed here, on the code for CPUs and the
# code for GPUs; a table of them. oclgrind interprets a kernel, so it runs only tests of small shapes. It cannot compile
# chain.cl: its target has no atomic instructions, so clang calls functions such as __atomic_load_4, which it lacks; OpenCL 1.2's
# own atomics do not order other accesses, as a chain needs. So `chain` is not among its tests. Takes an hour. A part: make test-opencl OPENCL="pocl6 rusticl" TESTS="gemm losses"
OPENCL        = $(shell tests/opencl/on --list)
SMALL_SHAPES  = $(EVERY_KERNEL) ops_attention ops_block ops_dense ops_embedding ops_image ops_norm ops_picture ops_recurrent
EVERY_KERNEL  = $(foreach p,networks tiles tiles_of_warps tiles_of_warp_groups,every_kernel@test_$p)
DEVICE_TESTS  = $(shell tools/gpu-check --list)
of-place      = $(if $(findstring oclgrind,$(1)),$(SMALL_SHAPES),$(if $(filter %mfma %wmma,$(1)),gemm_mma,$(DEVICE_TESTS)))
tests-on      = $(if $(TESTS),$(TESTS),$(of-place))
on-opencl     = $(foreach t,$(2),opencl/$(1)/$t:tests/opencl/on\ $(1)\ $t)
plainly       = $(foreach t,$(2),opencl/$(1)/$t:$(call plain-kernels,$t)tests/opencl/on\ $(1)\ $t)
# What belongs to `make test`: three minutes, and the root for rusticl and oclgrind, which runs each kernel with small shapes, except
# those of warp groups: these take as long as all others.
opencl-short  = $(call plainly,pocl-gpu,ops_block losses gpu_send) $(call plainly,pocl-staged,gpu_send model storage) $(call on-opencl,rusticl,losses) \
	$(call on-opencl,oclgrind-gpu,$(filter-out %warp_groups,$(EVERY_KERNEL))) \
	$(call on-opencl,oclgrind,every_kernel@test_networks every_kernel@test_transpose)

# An entry is LABEL:COMMAND. tests/run runs the entries in this order; those after each --beside run in the background meanwhile.
SYSTEM_TESTS := $(filter-out tests/system/%lib.sh,$(sort $(wildcard tests/system/*.sh)))
# Those that wait longest begin first, so that the others fill the time.
LONG_WAITS   := $(foreach t,examples experiments gpu_kit lakefs objects store uploadd,tests/system/$(t).sh)
# AddressSanitizer does not see into kernels: without it are tests of kernels that share their code on the host with others. So are
# tests that kill a process at each step of code that other tests run.
NOT_IN_ASAN  := conv_tiles embedding gemm gemm_mma gemm_tf32 losses_wide ops_image ops_norm ring_killed run_killed
IN_ASAN      := $(filter-out $(NOT_IN_ASAN),$(notdir $(UNIT_TESTS)))
# PoCL compiles kernels for most of the time of tests that train; it does so in a third of the time where it does not optimize and makes one
# variant of a kernel for all sizes. Those tests look at what kernels compute, or at what happens around them, so that is as good for them.
# `make test-opencl` runs the unit tests with the kernels that users have. Tests that compute much are faster with optimized kernels.
COMPUTE_MUCH := gemm gemm_mma gemm_tf32 ops_image
plain-kernels = $(if $(filter $(COMPUTE_MUCH),$(1)),,POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable\ )
# These system tests have the kernels that users have: the examples and the demo, what compares runs of systemd's units with others, and
# what computes much.
USERS_KERNELS := demo examples gpu_kit kill_bits kill_pictures model ranks_boxes systemd%
plain-system  = $(if $(filter $(USERS_KERNELS),$(1)),,POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable\ POCL_WORK_GROUP_SPECIALIZATION=0\ )
quietly      := $(MAKE)\ --no-print-directory\ -s\ -j$(shell nproc)
test-entries  = image/night-short:tests/image/night.sh\ --short \
	image/power-short:KILN_POWER_CUTS=10\ KILN_POWER_EVERY=5\ tests/image/replay.sh \
	$(foreach t,$(UNIT_TESTS),unit/$(notdir $t):$(call plain-kernels,$(notdir $t))$t) \
	$(foreach t,$(IN_ASAN),asan/$t:$(call plain-kernels,$t)build/asan/unit/$t) \
	$(foreach t,$(THREADED),tsan/$t:build/tsan/unit/$t) \
	$(opencl-short) \
	$(foreach t,$(FUZZERS),fuzz/$(notdir $t):tests/fuzz/corpora\ $(notdir $t)) \
	$(foreach t,$(LONG_WAITS) $(filter-out $(LONG_WAITS),$(SYSTEM_TESTS)),system/$(basename $(notdir $t)):$(call plain-system,$(basename $(notdir $t)))$t) \
	--beside lint:tools/tap\ lint\ $(quietly)\ LINT_CHECKS=-clang-analyzer-*\ lint

# Where QEMU cannot be installed, the test of a night in QEMU is skipped, with the reason. Beside the other tests the night takes 9
# to 20 minutes: it begins first, and the limit of a test is longer than that.
# The packages of the tests are installed while the programs are built, which need none of them: both take minutes.
test: deps
	@echo "Building: release, asan, tsan"
	@{ tools/deps/install store test && { tools/deps/install image || true; }; } & \
	 $(MAKE) --no-print-directory -s -j$(shell nproc) programs && \
	 $(MAKE) --no-print-directory -s -j$(shell nproc) FLAVOUR=asan build/asan/bin/kiln-fetchd $(LAYERS:%=build/asan/lib%.a) && wait $$!
	@$(MAKE) --no-print-directory -s -j$(shell nproc) tests untimed
	@$(MAKE) --no-print-directory -s -j$(shell nproc) FLAVOUR=asan $(IN_ASAN:%=build/asan/unit/%) fuzzers
	@$(MAKE) --no-print-directory -s -j$(shell nproc) FLAVOUR=tsan $(THREADED:%=build/tsan/unit/%)
	@KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) KILN_BENCHES=$(CURDIR)/$(B)/untimed \
	 ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0 \
	 KILN_TEST_LIMIT_S=1800 tests/run $(test-entries)

# For daily work: installs nothing.
test-unit: programs tests
	@KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) tests/run $(foreach t,$(UNIT_TESTS),unit/$(notdir $t):$t)

test-system: programs tests
	@KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) \
	 tests/run $(foreach t,$(SYSTEM_TESTS),system/$(basename $(notdir $t)):$t)

# Long tests. Under a real systemd in a container: a run of minutes that is killed, stopped, controlled and rebooted; every way
# in which a run ends; nights that end or are missed; and what a box stores and does after a run. Also 500 random schedules of
# network faults, the daemons under ThreadSanitizer, each call of the C library that fails once, and series killed 20 times.
KILLED_NIGHTS := experiments parallel article_story
SOAK_TESTS := $(sort $(wildcard tests/soak/*.sh))
test-soak: deps-test programs tests
	@KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) KILN_TEST_LIMIT_S=3600 KILN_TEST_JOBS=1 \
	 tests/run $(foreach t,$(SOAK_TESTS),soak/$(basename $(notdir $t)):$t) \
	 $(foreach t,$(KILLED_NIGHTS),soak/$t:KILN_KILLS=20\ tests/system/$t.sh) \
	 soak/kill_bits:KILN_SEEDS=\"1\ 2\ 3\"\ tests/system/kill_bits.sh

test-interop: deps-test programs tests
	@tools/deps/install bench
	@KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) KILN_TEST_LIMIT_S=3600 tests/run interop:tests/interop/run

# A real MLflow server from PyPI, in a virtual environment below build/.
test-mlflow: deps-test programs tests
	@tools/deps/install bench
	@tests/interop/venv mlflow >/dev/null
	@KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) KILN_TEST_LIMIT_S=1200 \
	 tests/run mlflow:tests/mlflow/run mlflow/series:tests/mlflow/series

# With the libraries of the next Debian, mbedTLS 3.6 among them, in a container.
test-debian13: deps-test
	@tools/deps/install image
	@KILN_TEST_LIMIT_S=3600 tests/run debian13:tests/interop/debian13.sh

# The table is build/results/opencl.md.
test-opencl: deps-test programs tests
	@tools/deps/install image
	@mkdir -p build/results
	@set -o pipefail; KILN_BUILD=$(CURDIR)/$(B) KILN_TEST_LIMIT_S=3600 \
	 tests/run $(foreach i,$(OPENCL),$(call on-opencl,$i,$(call tests-on,$i))) | tee build/results/opencl.txt; \
	 tests=$$?; tests/opencl/table build/results/opencl.txt | tee build/results/opencl.md; exit $$tests

# Lines and branches that unit and system tests reach, by folder. TESTS="unit/% system/control": only these tests.
# Programs of other users, and those in containers, write counts into files that exist and that everybody may write.
coverage-entries = $(foreach t,$(notdir $(UNIT_TESTS)),unit/$t:build/coverage/unit/$t) \
	$(foreach t,$(SYSTEM_TESTS),system/$(basename $(notdir $t)):$t)
coverage: deps-test
	@tools/deps/install coverage
	@$(MAKE) --no-print-directory -s -j$(shell nproc) FLAVOUR=coverage programs tests
	@tools/coverage clear
	@KILN_BIN=$(CURDIR)/build/coverage/bin KILN_BUILD=$(CURDIR)/build/coverage KILN_COUNTS=$(CURDIR)/build/coverage/obj \
	 GCOV_ERROR_FILE=$(CURDIR)/build/coverage/gcov.log KILN_TEST_LIMIT_S=1800 \
	 tests/run $(if $(TESTS),$(filter $(foreach t,$(TESTS),$(if $(findstring %,$t),$t,$t:%)),$(coverage-entries)),$(coverage-entries)); \
	 tests=$$?; tools/coverage report && exit $$tests

# Coverage-guided fuzzing of one parser: make fuzz NAME=example SECONDS=60
SECONDS ?= 60
fuzz: deps-test
	@$(MAKE) --no-print-directory -s -j$(shell nproc) FLAVOUR=fuzz CC=clang build/fuzz-clang/fuzz/$(NAME)
	tests/fuzz/run $(NAME) -max_total_time=$(SECONDS)

# All fuzzers, an equal share of HOURS each. The corpus and the sums of executions are saved in the tree: commit them.
HOURS ?= 8
fuzz-all: deps-test
	@$(MAKE) --no-print-directory -s -j$(shell nproc) FLAVOUR=fuzz CC=clang fuzzers
	@tests/fuzz/all $(HOURS) $(sort $(notdir $(FUZZERS)))

BENCH_NAMES := $(sort $(patsubst tests/bench/run-%,%,$(wildcard tests/bench/run-*)))
bench: $(BENCH_NAMES:%=bench-%)
bench-%: deps-test programs tests benches
	@tools/deps/install bench
	@mkdir -p build/results
	@set -o pipefail; KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) tests/bench/run-$* | tee build/results/$*.jsonl

# Verifies, then times the kernels on this machine's OpenCL device. With another driver: make gpu-check ICD=FILE
gpu-check: deps-test programs tests benches
	@tools/deps/install bench
	@mkdir -p build/results
	@set -o pipefail; KILN_BUILD=$(CURDIR)/$(B) tools/gpu-check $(if $(ICD),--icd $(ICD)) | tee build/results/gpu-check.jsonl

# Compiles the kernels for NVIDIA and AMD GPUs without one: registers and local memory; a kernel that spills fails. Needs clang-15, libclc-15
# and ptxas.
gpu-static:
	@tools/gpu-static

# The least time that the benchmarks of a GPU can take on named devices, beside the measured figures.
roofline:
	@tests/bench/roofline.py

# Packs what a machine with a GPU needs to check and measure Kiln without Debian's packages or a network.
gpu-kit: deps-test programs tests benches
	@tools/deps/install bench
	@KILN_BUILD=$(CURDIR)/$(B) tools/gpu-kit pack build/gpu-kit.tar.xz

# Profile of the instructions that fetchd executes, printed and written to build/results.
profile: deps
	@tools/deps/install bench profile
	@$(MAKE) --no-print-directory -s -j$(shell nproc) programs $(B)/system/make_shards $(B)/system/fetch_reader
	@mkdir -p build/results
	@set -o pipefail; KILN_BIN=$(CURDIR)/$(B)/bin KILN_BUILD=$(CURDIR)/$(B) tests/bench/profile-fetch | tee build/results/profile-fetch.txt

help:
	@echo "Kiln: firmware that trains every night, unattended."
	@echo
	@echo "  make demo                  install, build, run the main job on real input, show the result"
	@echo "  make demo IMDB=DIR         the same with the Large Movie Review Dataset in DIR"
	@echo "  make demo PICTURES=DIR     the same with the pictures in the class folders of DIR"
	@echo "  make demo STORE=s3         the same through a real S3 server on loopback"
	@echo "  make test                  install, build, run all tests"
	@echo
	@echo "  make                       programs into $(B)/bin    (CC=clang; FLAVOUR=release|asan|tsan|coverage; V=1)"
	@echo "  make install               install missing packages, build, install Kiln    (DESTDIR= PREFIX=/usr)"
	@echo "  make image                 a bootable disk image of a box    (GPU=cpu|intel|nvidia KERNEL=amd64|cloud MIRROR=URL)"
	@echo "  make bundle                the signed update bundle of the image, for kiln update    (KEY= CERT= KEYRING=)"
	@echo "  make flash DEV= CONF=      write the image onto a disk, with a box's configuration    (FOLDER= credentials, certificates)"
	@echo "  make vm [CONF=] [FOLDER=]  boot the image in QEMU on this terminal, to try a box"
	@echo "  make deps                  install the Debian packages that building needs"
	@echo "  make lint                  format, clang-tidy, include arrows, circles, function length"
	@echo "  make test-unit             unit tests only          make test-system    system tests only"
	@echo "  make test-soak             long tests under a real systemd, and 500 schedules of network faults; takes minutes each"
	@echo "  make test-image            build the image twice, boot it in QEMU; takes minutes"
	@echo "  make test-power            check the disk after a power cut at every flush of a run and of an update, and"
	@echo "                             KILN_POWER_KILLS (20) kills in QEMU; takes hours"
	@echo "  make test-interop          compare with TensorFlow, TensorBoard and safetensors, in a virtual environment"
	@echo "  make test-opencl           the tests of kernels on every implementation of OpenCL that can be installed here (OPENCL= TESTS=)"
	@echo "  make test-mlflow           tell a real MLflow server of nights, and read them back with its client"
	@echo "  make test-debian13         build in a container of Debian 13, with mbedTLS 3.6, and run tests there"
	@echo "  make coverage              which lines and branches the tests reach, by folder    (TESTS=)"
	@echo "  make fuzz NAME= SECONDS=   coverage-guided fuzzing of one of: $(notdir $(FUZZERS))"
	@echo "  make fuzz-all HOURS=       all of them, an equal share of the time each; keeps corpus and counts in tests/fuzz"
	@echo "  make bench                 all benchmarks           make bench-NAME     one of: $(BENCH_NAMES)"
	@echo "  make gpu-check             verify and time every kernel on this machine's OpenCL device    (ICD=FILE)"
	@echo "  make gpu-static            registers and local memory of the kernels, compiled for NVIDIA and AMD GPUs without one"
	@echo "  make roofline              the least time of the benchmarks on named GPUs, beside what was measured"
	@echo "  make gpu-kit               pack the same, for a machine that has a GPU but no packages      (KIT_IMDB=DIR)"
	@echo "  make profile               profile fetchd's instructions, with callgrind, and with perf where it works"
	@echo "  make clean                 remove build/"

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

.PHONY: all programs tests unit-tests fuzzers benches untimed clean deps deps-test install demo lint test test-unit test-system test-soak test-interop test-mlflow test-debian13 test-opencl test-image test-power image bundle flash vm fuzz fuzz-all coverage bench gpu-check gpu-kit gpu-static roofline profile help
.SECONDARY:
