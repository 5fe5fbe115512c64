# SPDX-License-Identifier: Apache-2.0
# One non-recursive Makefile. Objects of each flavour lie in build/<flavour>/; nothing is written outside build/.

FLAVOUR ?= release# release, asan, tsan or coverage
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

PACKAGES := libcurl mbedtls zlib libconfig libsystemd libcjson expat OpenCL
PKG_CFLAGS := $(shell pkg-config --cflags libcurl zlib libconfig libsystemd libcjson expat OpenCL 2>/dev/null)
PKG_LIBS   := -lcurl -lmbedcrypto -lz -lconfig -lsystemd -lcjson -lexpat -lOpenCL -lm

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wstrict-prototypes -Wmissing-prototypes -Werror
CPPFLAGS := -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=120 -Ifirmware -I. $(PKG_CFLAGS)
CFLAGS   := -std=gnu17 -g $(WARNINGS) -ffunction-sections -fdata-sections -ffp-contract=off
LDFLAGS  := -Wl,--as-needed -Wl,--gc-sections -pthread

ifeq ($(FLAVOUR),release)
CFLAGS   += -O2 -flto=auto -fstack-protector-strong -fPIE -fstack-clash-protection -fcf-protection
CPPFLAGS += -D_FORTIFY_SOURCE=2
LDFLAGS  += -flto=auto -O2 -pie -Wl,-z,relro,-z,now
ifneq ($(CLANG),)
CFLAGS   := $(subst -flto=auto,-flto=thin,$(CFLAGS))
LDFLAGS  := $(subst -flto=auto,-flto=thin -fuse-ld=lld,$(LDFLAGS))
endif
else ifeq ($(FLAVOUR),asan)
CFLAGS   += -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
LDFLAGS  += -fsanitize=address,undefined
else ifeq ($(FLAVOUR),tsan)
CFLAGS   += -O1 -fno-omit-frame-pointer -fsanitize=thread
LDFLAGS  += -fsanitize=thread
else ifeq ($(FLAVOUR),coverage)
CFLAGS   += -O0 --coverage
LDFLAGS  += --coverage
else
$(error FLAVOUR is '$(FLAVOUR)'; it is one of release, asan, tsan, coverage)
endif

# ---- What is built. One archive a layer, one line a program. -------------------------------------------------------

LAYERS := core data model drivers
src-core    := $(wildcard firmware/core/*.c)
src-data    := $(wildcard firmware/data/*.c)
src-model   := $(wildcard firmware/model/*.c firmware/model/*/*.c)
src-drivers := $(wildcard drivers/*/*.c)
gen-model   := $(patsubst firmware/model/kernels/%.cl,$(B)/gen/%.cl.c,$(wildcard firmware/model/kernels/*.cl))

# Order matters to the linker: each layer after those that use it.
ARCHIVES := $(foreach l,model data drivers core,$(B)/lib$(l).a)

PROGRAMS :=
define program # name, folder of its sources
ifneq ($$(wildcard $(2)/main.c),)
PROGRAMS += $$(B)/bin/$(1)
$$(B)/bin/$(1): $$(patsubst %.c,$$(B)/obj/%.o,$$(wildcard $(2)/*.c)) $$(ARCHIVES)
	$$(link)
endif
endef

all: programs

define link
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LINK_EXTRA) $(PKG_LIBS)
endef

$(eval $(call program,kiln,firmware/cli))
$(eval $(call program,kiln-fetchd,firmware/fetchd))
$(eval $(call program,kiln-traind,firmware/traind))
$(eval $(call program,kiln-uploadd,firmware/uploadd))
$(eval $(call program,kiln-oneshot,firmware/oneshot))

UNIT_TESTS  := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/*.c))
FUZZERS     := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/*.c))
BENCHES     := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))
TEST_HELPERS := $(patsubst tests/system/%.c,$(B)/system/%,$(wildcard tests/system/*.c))

programs: $(PROGRAMS)
tests: $(UNIT_TESTS) $(FUZZERS) $(TEST_HELPERS)
benches: $(BENCHES)

# ---- Rules ----------------------------------------------------------------------------------------------------------

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# An OpenCL source becomes `const char kernel_NAME[]` and `const size_t kernel_NAME_bytes`.
$(B)/gen/%.cl.c: firmware/model/kernels/%.cl
	@mkdir -p $(@D)
	@echo "  EMBED $<"
	$(Q){ echo '#include <stddef.h>'; \
	  echo 'extern const char kernel_$*[]; extern const size_t kernel_$*_bytes;'; \
	  echo 'const char kernel_$*[] = {'; od -v -An -tx1 $< | sed 's/ /,0x/g;s/^,//;s/$$/,/'; \
	  echo '0}; const size_t kernel_$*_bytes = sizeof(kernel_$*) - 1;'; } > $@

define archive
$$(B)/lib$(1).a: $$(patsubst %.c,$$(B)/obj/%.o,$$(src-$(1))) $$(patsubst $$(B)/gen/%.c,$$(B)/obj/gen/%.o,$$(gen-$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call archive,$(l))))

$(UNIT_TESTS): LINK_EXTRA = -lcmocka
$(B)/unit/%: $(B)/obj/tests/unit/%.o $(ARCHIVES)
	$(link)

$(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(B)/obj/tests/fuzz/driver/replay.o $(ARCHIVES)
	$(link)

$(B)/bench/%: $(B)/obj/tests/bench/%.o $(ARCHIVES)
	$(link)

$(B)/system/%: $(B)/obj/tests/system/%.o $(ARCHIVES)
	$(link)

clean:
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

.PHONY: all programs tests benches clean
.SECONDARY:
