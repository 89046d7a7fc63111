# The build of rly.  What it makes lies below build/MODE/, a mirror of the
# source folders; what re2c, lemon and embed generate, in build/MODE/gen/.
#
#   make [MODE=release|debug|asan|tsan|cov|guided|wasm] [CC=clang]
#        [READLINE=0|1|2] [OPENMP=0] [MPI=0] [V=1]
#   make help

MODE     ?= release
B        := build/$(MODE)
GEN      := $(B)/gen
.DEFAULT_GOAL := all
ifeq ($(MODE),wasm)
include web/wasm.mk
endif
# The line editor: 1 is GNU Readline, 2 libedit, 0 none.
READLINE ?= 1
ONNX     ?= $(if $(wildcard /usr/include/protobuf-c/protobuf-c.h),1,0)
ifeq ($(BUNDLED),1)
include web/bundled.mk
endif
MPI      ?= $(if $(shell command -v mpicc 2>/dev/null),1,0)
OPENMP   ?= $(if $(findstring clang,$(CC)),0,1)
PREFIX   ?= /usr/local
POSITION ?= -fPIC

RLY := $(B)/rly$(SUFFIX)
LIB := $(B)/parts.a
STATIC := $(B)/librly.a
TEAM := $(if $(filter 1,$(MPI)),$(B)/rly-mpi.so)
# What `rly serve-docs` starts; a module of WebAssembly starts nothing.
SERVER := $(if $(filter wasm,$(MODE)),,$(B)/rly-serve-docs)
SO  := $(B)/librly.so
Q   := $(if $(V),,@)

OBJCOPY ?= objcopy

MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

# --- Debian packages --------------------------------------------------------

PACKAGES       := gcc g++ libc6-dev perl re2c lemon libjansson-dev libzip-dev \
                  libxxhash-dev libreadline-dev libcmocka-dev libmpfr-dev \
                  pkgconf clang-format
BENCH_PACKAGES := lua5.4 ocaml-nox libopenblas-dev
GUIDED_PACKAGES := clang libclang-rt-dev
MEMCHECK_PACKAGES := valgrind
TIDY_PACKAGES  := clang-tidy
BROWSER_PACKAGES := chromium
GRAPH_PACKAGES := graphviz
FFTW_PACKAGES  := libfftw3-dev
EDITOR_PACKAGES := neovim vim emacs-nox zsh fish python3-pygments
PYTHON_PACKAGES := python3-numpy python3-cffi python3-pytest mypy
MPI_PACKAGES   := libopenmpi-dev openmpi-bin
NOTEBOOK_PACKAGES := python3-ipykernel python3-jupyter-client
ONNX_PACKAGES  := libprotobuf-c-dev protobuf-c-compiler libonnx-testdata
DEB_PACKAGES   := debhelper dh-python lintian fakeroot python3-all reuse \
                  libprotobuf-c-dev protobuf-c-compiler
WEB_PACKAGES   := clang lld llvm wasi-libc libclang-rt-dev-wasm32 dpkg-dev \
                  python3-minimal binaryen \
                  brotli $(if $(shell command -v node),,nodejs npm)
TREE_SITTER_PACKAGES := libtree-sitter-dev
VSCODE_PACKAGES := unzip $(if $(shell command -v node),,nodejs npm)
MUSL_PACKAGES  := musl-tools dpkg-dev
LIBEDIT_PACKAGES := libedit-dev
NEON_PACKAGES  := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user

# --- Version ----------------------------------------------------------------

VERSION := $(shell sed -n 's/.*_TEXT "\(.*\)"/\1/p' base/version.h)
SONAME  := librly.so.$(firstword $(subst ., ,$(VERSION)))

# --- Flags ------------------------------------------------------------------

# One row per mode: optimisation, and what the linker must know of it.
OPT_release := -O2 -g -DNDEBUG
OPT_debug   := -Og -g3
# Undefined behaviour traps, and the address sanitizer then prints the place:
# the texts of all possible messages would be 20 MB, and double each start.
# Reports name lines, which is what -g1 holds; it compiles a quarter faster.
# For variables in a debugger say CFLAGS=-g.
OPT_asan    := -O1 -g1 -fno-omit-frame-pointer \
               -fsanitize=address,undefined -fsanitize-undefined-trap-on-error
OPT_tsan    := -O1 -g1 -fsanitize=thread
OPT_cov     := -O0 -g --coverage
# clang takes NULL + 0 for an overflow of pointers; it has become valid (N3322).
OPT_guided  := -O1 -g -fno-omit-frame-pointer \
               -fsanitize=fuzzer-no-link,address,undefined \
               -fno-sanitize=pointer-overflow \
               -fno-sanitize-recover=all
$(if $(OPT_$(MODE)),,\
  $(error MODE is release, debug, asan, tsan, cov, guided or wasm))

# CPPFLAGS, CFLAGS and LDFLAGS are those of whoever builds: they are added to
# ours and may choose the optimisation, the machine, hardening.  After them
# stands what results depend on (the same bits everywhere), and linking.
FIXED := $(if $(CFLAGS),-fno-fast-math) -ffp-contract=off $(POSITION) \
         -fvisibility=hidden $(if $(filter 1,$(OPENMP)),-fopenmp)
OWN_CPPFLAGS := -I. -I$(GEN) -D_GNU_SOURCE= $(BUNDLED_CPPFLAGS) $(LOOKS)
PREPROCESS := $(OWN_CPPFLAGS) $(CPPFLAGS)
COMPILE    := -std=gnu11 $(OPT_$(MODE)) $(CFLAGS) $(FIXED)
LINK       := $(CC) $(COMPILE) $(LDFLAGS)
WERROR   ?= $(if $(CI),1)
WARN     := -Wall -Wextra $(WARN_$(MODE)) $(if $(WERROR),-Werror)
GEN_WARN := -Wall -Wno-unused
SYSTEMS  := -ljansson $(if $(filter 1,$(ONNX)),-lprotobuf-c)
LDLIBS   := $(or $(LIBS_$(MODE)),$(if $(BUNDLED),,$(SYSTEMS)) -lm)

# One row per instruction set beyond the target's own: its flags.
ISA_avx2   := -mavx2 -mfma
ISA_avx512 := -mavx512f -mavx512dq -mavx512bw -mavx512vl

# Calls of rly.h that end the process where a status is one that the function's
# comment does not list (docs/statuses.pl).
STATUSES := -include $(GEN)/tests/statuses.h

# More flags for the objects of one folder, or one of it: FLAGS_folder, _source.
FLAGS_lib      := -DRLY_ONNX=$(ONNX)
FLAGS_repl      = -DRLY_READLINE=$(READLINE) \
                  $(if $(filter asan,$(MODE)),$(STATUSES))
FLAGS_tests/unit := $(STATUSES)
# Who builds without optimisation gets none.
ifeq ($(MODE)$(filter -O0 -Og,$(CFLAGS)),release)
FLAGS_tensor   := -O3
FLAGS_kernels/ref := -O3
FLAGS_kernels/math := -O3
FLAGS_kernels/simd := -O3
FLAGS_kernels/drive := -O3
FLAGS_team     := -O3
FLAGS_bench    := -O3
# gcc interleaves independent lines of arithmetic only if told to.
FLAGS_kernels/simd/elementwise.c := \
  $(if $(findstring clang,$(CC)),,-fschedule-insns -fsched-pressure)
endif
# Without optimisation gcc fails to inline what xxHash says must be inlined,
# which is an error unless xxHash is told not to say so.
XXHASH := $(if $(filter -O0 -Og,$(OPT_$(MODE)) $(CFLAGS)),\
            -DXXH_NO_INLINE_HINTS)
FLAGS_lib/state_file.c   := $(XXHASH)
FLAGS_repl/train_data.c  := $(XXHASH)
FLAGS_tests/lanes/avx2   := $(ISA_avx2)
FLAGS_tests/lanes/avx512 := $(ISA_avx512)

# What the program alone, and what the unit tests link on top.
# Each shared library costs every start, so readline is loaded where a terminal
# is read (repl/readline.h), and the program holds the reader's where it can
# (70,000 instructions less, of 1.2 million for `rly -e '1 + 1'`).
RLY_ONNX  := $(if $(filter 1,$(ONNX)$(BUNDLED)),$(filter /%,$(shell \
               $(CC) -print-file-name=libprotobuf-c.a)) -Xlinker --as-needed)
# Plugins call functions of rly.h, which are all that is visible (-rdynamic);
# nothing else would link those for operators.
RLY_LINK  ?= -rdynamic -Xlinker -u -Xlinker rly_operator_add
UNIT_LIBS := -lcmocka -lmpfr -lgmp

# --- Sources ----------------------------------------------------------------

FOLDERS := base tensor ir ops rules kernels io parser types passes data value \
           bytecode vm state observe smallstep stepper lib stdlib \
           $(if $(filter 1,$(ONNX)),onnx export) $(ADDS)
STDLIB  := $(wildcard stdlib/*.rly stdlib/gradients/*.rly \
             stdlib/onnx/*.rly stdlib/train/*.rly) \
           $(wildcard stdlib/rules/[A-Z]*.rly)

lib_src  := $(filter-out stdlib/embed.c kernels/simd/% $(LACKS),\
              $(sort $(shell find $(wildcard $(FOLDERS)) -name '*.c')))
rly_src  := $(wildcard repl/*.c server/*.c team/*.c)
unit_src := $(wildcard tests/unit/*.c tests/ulp/*.c)
conf_src := $(wildcard tests/conformance/*.c)
bench_src := $(wildcard bench/*.c)
fuzz_src := $(filter-out fuzz/attrs.c,$(wildcard fuzz/*.c)) \
            $(addprefix tests/conformance/,value.c trial.c) tests/process.c

# Kernels and vector math once for each instruction set that the compiler's
# target has.
machine   := $(shell $(CC) -dumpmachine 2>/dev/null)
x86       := $(findstring x86_64,$(machine))
ISAS      := $(if $(x86),generic avx2 avx512,\
               $(if $(findstring aarch64,$(machine)),neon,generic))
isa_src   := $(wildcard kernels/simd/*.c)
isa_obj   := $(foreach isa,$(ISAS),\
               $(isa_src:kernels/simd/%.c=$(B)/kernels/simd/$(isa)/%.o))
lanes_src := $(wildcard $(addprefix tests/lanes/,*.c generic/*.c \
               $(if $(x86),avx2/*.c avx512/*.c)))

gen_src := $(patsubst %.re,$(GEN)/%.c,$(wildcard parser/*.re)) \
           $(patsubst %.y,$(GEN)/%.c,$(wildcard parser/*.y)) \
           $(if $(wildcard stdlib/embed.c),$(GEN)/stdlib/library.c) \
           $(if $(filter 1,$(ONNX)),$(GEN)/onnx/onnx.pb-c.c)
# Tables whose identifiers stand in a header that most of the program includes.
tables  := base/diag ops/ops bytecode/code bytecode/pseudo
gen_hdr := $(patsubst %.y,$(GEN)/%.h,$(wildcard parser/*.y)) \
           $(if $(filter 1,$(ONNX)),$(GEN)/onnx/onnx.pb-c.h) \
           $(tables:%=$(GEN)/%.ids) $(GEN)/ops/rules.ids \
           $(GEN)/kernels/own.inc $(GEN)/kernels/ref/each.inc \
           $(GEN)/repl/diagnostics.inc $(GEN)/repl/lessons.inc \
           $(GEN)/stepper/page.css.inc $(GEN)/stepper/page.js.inc \
           $(GEN)/stepper/versions.css.inc $(GEN)/stepper/versions.js.inc \
           $(GEN)/stepper/views.js.inc \
           $(GEN)/data/graph.css.inc $(GEN)/data/graph.js.inc \
           $(GEN)/tests/statuses.h \
           $(deps_hdr)

objects = $(patsubst %.c,$(B)/%.o,$(1))
lib_obj := $(call objects,$(lib_src)) $(isa_obj) $(gen_src:.c=.o) $(deps_obj)
units   := $(unit_src:%.c=$(B)/%)
conf    := $(B)/tests/conformance/run
bench   := $(B)/bench/bench
differ  := $(B)/fuzz/differ
fuzz_attrs := $(B)/fuzz/attrs
oom     := $(B)/tests/oom/oom

# --- Building ---------------------------------------------------------------

# What has a line in `make help` is no file; nor are these.
.PHONY: FORCE ready check \
        $(shell sed -n 's/^\([a-z-]*\):[^\#]*\#\# .*/\1/p' Makefile install.mk)
.SECONDARY:
.DELETE_ON_ERROR:

all: $(RLY) $(TEAM) $(SERVER) $(PARTS) ## build/MODE/rly (the default)
lib: $(STATIC) $(SO) ## build/MODE/librly.a and librly.so
units: $(units) ## the C unit tests, without running them

# All that is linked with flags of its own is linked again after a change of
# those: the stack of MODE=wasm, LDFLAGS.  What goes into it is `linked`.
$(RLY) $(SO) $(units) $(conf) $(bench) $(differ) $(fuzz_attrs) $(oom) \
  $(B)/rly-libedit $(B)/tests/late/late: $(B)/links
linked = $(filter %.o %.a,$^)

# The tables hold thousands of pointers, which a program at any address must
# relocate when it starts; packed, these relocations are read with fewer page
# faults (`make bench BENCH=start`: 1.41 ms instead of 1.49).  Version 1.2.3 of
# musl does not know that form, and a program in it crashes there.  For the
# address sanitizer's thousands of short runs the program has one address.
PACKED := $(if $(findstring musl,$(CC) $(machine)),,$(x86))
$(RLY): private LINK += $(if $(filter asan,$(MODE)),-no-pie,$(if $(PACKED),\
  -Xlinker -z -Xlinker pack-relative-relocs))
$(RLY): $(call objects,$(rly_src)) $(LIB)
	@echo "  link  $@"
	$(Q)$(LINK) $(RLY_LINK) $(linked) $(RLY_ONNX) $(LDLIBS) -o $@

# The program with libedit: of its objects five are others.
edit_src := $(addprefix repl/,edit.c line.c readline.c libedit.c \
              libedit_complete.c)
edit_obj := $(edit_src:repl/%.c=$(B)/libedit/%.o)
$(edit_obj): private READLINE := 2
$(B)/libedit/%.o: repl/%.c $(B)/flags | $(gen_hdr)
	@mkdir -p $(@D)
	@echo "  cc    $< (libedit)"
	$(Q)$(CC) $(PREPROCESS) $(COMPILE) $(WARN) $(FLAGS_repl) -MMD -MP \
	  -c $< -o $@

$(B)/rly-libedit: $(edit_obj) \
  $(call objects,$(filter-out $(edit_src),$(rly_src))) $(LIB)
	@echo "  link  $@"
	$(Q)$(LINK) $(RLY_LINK) $(linked) $(RLY_ONNX) $(LDLIBS) -o $@

$(B)/rly-serve-docs: web/serve.c $(B)/flags
	@echo "  link  $@"
	$(Q)$(CC) $(PREPROCESS) $(COMPILE) $(WARN) $(LDFLAGS) $< -o $@

# What `rly train` loads where mpirun started it.
$(B)/rly-mpi.so: team/mpi/mpi.c team/team.h $(B)/flags | $(gen_hdr)
	@echo "  link  $@"
	$(Q)OMPI_CC="$(CC)" MPICH_CC="$(CC)" mpicc $(PREPROCESS) $(COMPILE) \
	  $(WARN) $(LDFLAGS) -shared -fvisibility=default $< -o $@

$(B)/team/cost: team/mpi/cost.c team/mpi/mpi.c $(B)/team/sum.o $(LIB)
	$(Q)OMPI_CC="$(CC)" MPICH_CC="$(CC)" mpicc $(PREPROCESS) $(COMPILE) \
	  $(WARN) $(LDFLAGS) $^ $(LDLIBS) -o $@

# The library with the names of all its functions, for the program and tests.
$(LIB): $(lib_obj)
	@echo "  ar    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Only what rly.h declares is visible from outside.  Of a static library that
# takes one object, in which all other names are made local; else a host's own
# functions, and those of its other libraries, would clash with ours.
$(STATIC): $(lib_obj)
	@echo "  ar    $@"
	$(Q)$(CC) $(COMPILE) -r -nostdlib $^ -o $(B)/librly.o
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='rly_*' $(B)/librly.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(B)/librly.o && rm $(B)/librly.o

$(SO): $(lib_obj)
	@echo "  link  $@"
	$(Q)$(LINK) -shared -Wl,-soname,$(SONAME) $(linked) \
	  $(LDLIBS) -o $@
	$(Q)ln -sf $(@F) $(B)/$(SONAME)

$(B)/tests/unit/math_test $(B)/tests/ulp/ulp: $(call objects,$(lanes_src))

# Its buffers come from the test, and operators run by way of it.
$(B)/tests/unit/guard_test: private LINK += $(patsubst %,-Xlinker --wrap=%,\
  buffer_new mem_alloc_aligned mem_free_aligned op_finish)

ALLOCATOR := $(patsubst %,-Xlinker --wrap=%,malloc calloc realloc \
               aligned_alloc free)

# Under a sanitizer a fork waits for the allocator.
$(B)/tests/unit/fork_test: private LINK += $(ALLOCATOR)

# The program itself, with the allocator's calls wrapped.
$(B)/tests/oom/main.o: repl/main.c $(B)/flags | $(gen_hdr)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PREPROCESS) $(COMPILE) -Dmain=rly_main -MMD -MP -c $< -o $@
$(oom): $(oom).o $(B)/tests/oom/paths.o $(B)/tests/oom/main.o \
  $(filter-out $(B)/repl/main.o,$(call objects,$(rly_src))) $(LIB)
	@echo "  link  $@"
	$(Q)$(LINK) $(ALLOCATOR) $(linked) $(LDLIBS) -o $@

$(B)/tests/unit/team_test: $(B)/team/sum.o

# So that the places it prints are those of the file.
$(B)/tests/late/late: private LINK += -no-pie

# Checks programs by what is below the kernels alone.
check_obj := $(filter $(foreach room,base tensor ir ops rules io parser types,\
               $(B)/$(room)/% $(GEN)/$(room)/%),$(lib_obj))
$(B)/tests/unit/types_test: %: %.o $(check_obj)
	$(Q)$(LINK) $(linked) $(LDLIBS) $(UNIT_LIBS) -o $@

$(filter-out %/types_test,$(units)) $(B)/tests/late/late: %: %.o $(LIB)
	$(Q)$(LINK) $(filter %.o,$^) $(LIB) $(LDLIBS) \
	  $(UNIT_LIBS) -o $@

$(conf): $(call objects,$(conf_src) tests/process.c) $(deps_obj)
$(bench): $(call objects,$(bench_src) tests/process.c) $(LIB)
$(differ): $(call objects,$(fuzz_src)) $(LIB)
$(fuzz_attrs): $(B)/fuzz/attrs.o $(LIB)
$(conf) $(bench) $(differ) $(fuzz_attrs):
	$(Q)$(LINK) $(linked) $(LDLIBS) -o $@

$(B)/%.o: %.c $(B)/flags | $(gen_hdr)
	@mkdir -p $(@D)
	@echo "  cc    $<"
	$(Q)$(CC) $(PREPROCESS) $(COMPILE) $(WARN) $(FLAGS_$(<D)) $(FLAGS_$<) \
	  -MMD -MP -c $< -o $@

# build/MODE/kernels/simd/avx2/tile.o from kernels/simd/tile.c
define ISA_RULE
$$(B)/kernels/simd/$(1)/%.o: kernels/simd/%.c $$(B)/flags | $$(gen_hdr)
	@mkdir -p $$(@D)
	@echo "  cc    $$< ($(1))"
	$$(Q)$$(CC) $$(PREPROCESS) -DSIMD_ISA=$(1) $$(COMPILE) $$(WARN) \
	  $$(FLAGS_$$(<D)) $$(FLAGS_$$<) $$(ISA_$(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call ISA_RULE,$(isa))))

$(GEN)/%.o: $(GEN)/%.c $(B)/flags | $(gen_hdr)
	@echo "  cc    $<"
	$(Q)$(CC) $(PREPROCESS) $(COMPILE) $(GEN_WARN) -MMD -MP -c $< -o $@

# Writes standard input to a file, unless that is what the file holds: then the
# file keeps its time, and nothing that depends on it is made again.
update = cat > $(1).new; cmp -s $(1).new $(1) && rm $(1).new || mv $(1).new $(1)

# Compiled with other flags than last time?  Then compile again.  The + runs a
# recipe under `make -n`, too, which then tells what a real make would do.
$(B)/flags: FORCE
	+@mkdir -p $(@D); \
	  echo '$(CC) $(PREPROCESS) $(COMPILE) $(WARN) $(FLAGS_lib) $(FLAGS_repl)' | \
	  { $(call update,$@); }

$(B)/links: FORCE
	+@mkdir -p $(@D); \
	  echo '$(LINK) $(RLY_LINK) $(RLY_ONNX) $(LDLIBS) $(UNIT_LIBS)' | \
	  { $(call update,$@); }

ifeq ($(MODE),wasm)
include web/split/split.mk
endif

# --- Generated sources ------------------------------------------------------

# The first argument of each row of a table, as ID(argument).  A row's texts may
# change and this file stays: only what includes the whole row is compiled.
$(GEN)/%.ids: %.def
	+@mkdir -p $(@D); $(CC) -E -P -x c $< \
	  $(foreach row,DIAG OP INS,'-D$(row)(id, ...)=ID(id)') | \
	  { $(call update,$@); }

# The names of the rules, whose rows stand above their functions.
$(GEN)/ops/rules.ids: $(wildcard ops/rules/*.c)
	+@mkdir -p $(@D); sed -nE 's/^(RULE|FORM)\(([a-z0-9_]*).*/ID(\2)/p' $^ | \
	  { $(call update,$@); }

# What kernels/ref/each_one.h is told of each dtype, row by row.  A suffix comes
# last, since bool has none.
$(GEN)/kernels/ref/each.inc: tensor/dtype.def
	+@mkdir -p $(@D); $(CC) -E -P -x c $< "-DDTYPE(id, suffix, type, class, \
	  form, bits, in, loops, ...)=DTYPE id type ROW_##class \
	  ROW_##form ROW_##in ROW_##loops bits suffix" | \
	  awk '/^DTYPE/ { print "#define ID " $$2 "\n#define T " $$3; \
	                  for (i = 4; i <= 7; i++) print "#define " $$i " 1"; \
	                  print "#define BITS " $$8 "\n#define SUFFIX " $$9; \
	                  print "#include \"kernels/ref/each_one.h\""; \
	                  print "#undef ID\n#undef T\n#undef BITS\n#undef SUFFIX"; \
	                  for (i = 4; i <= 7; i++) print "#undef " $$i }' | \
	  { $(call update,$@); }

# A row KERNEL(OP, op) for each operator that kernels.def has no row of.
$(GEN)/kernels/own.inc: kernels/kernels.def $(GEN)/ops/ops.ids
	+@mkdir -p $(@D); awk -F'[(),]' \
	  'FNR == NR { if (/^(KERNEL|MACHINE)/) row[$$2] = 1; next } \
	   /^ID/ && !row[$$2] { print "KERNEL(" $$2 ", " tolower($$2) ")" }' $^ | \
	  { $(call update,$@); }

# An archive of `make dist` has these in gen/.
ifneq ($(wildcard gen/parser/scan.c),)
$(GEN)/parser/%: gen/parser/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(GEN)/onnx/%: gen/onnx/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
else
$(GEN)/%.c: %.re
	@mkdir -p $(@D)
	$(Q)re2c -W --no-generation-date -o $@ $<

$(GEN)/%.c $(GEN)/%.h &: %.y
	@mkdir -p $(@D)
	$(Q)lemon -q -T/usr/share/lemon/lempar.c -d$(@D) $<
	@touch $(GEN)/$*.h  # lemon leaves an unchanged header as it was

$(GEN)/onnx/%.pb-c.c $(GEN)/onnx/%.pb-c.h &: onnx/%.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(GEN) $<
endif

# A page as a C string, a literal a line.
as_string = sed 's/[\\"]/\\&/g; s/.*/"&\\n"/'
$(GEN)/repl/diagnostics.inc: docs/DIAGNOSTICS.md
	@mkdir -p $(@D)
	$(Q)$(as_string) $< > $@

$(GEN)/tests/statuses.h: docs/statuses.pl docs/Tables.pm include/rly.h
	@mkdir -p $(@D)
	$(Q)perl $< --checks > $@

# A row {path, text} for each file of the tutorial and for each page of puzzles.
lessons := $(sort $(wildcard docs/tutorial/*)) \
           $(sort $(wildcard docs/puzzles/*))
$(GEN)/repl/lessons.inc: $(lessons)
	@mkdir -p $(@D)
	$(Q)for file in $^; do echo "{\"$$file\","; $(as_string) $$file; \
	  echo '},'; done > $@

$(GEN)/stepper/%.inc: stepper/%
	@mkdir -p $(@D)
	$(Q)$(as_string) $< > $@

$(GEN)/data/%.inc: data/%
	@mkdir -p $(@D)
	$(Q)$(as_string) $< > $@

$(GEN)/stdlib/library.c: $(B)/stdlib/embed $(STDLIB)
	@mkdir -p $(@D)
	$(Q)$< $@ $(STDLIB)

# It runs on this machine, also where the rest does not (BUILD_CC).
$(B)/stdlib/embed: stdlib/embed.c stdlib/library.h
	@mkdir -p $(@D)
	$(Q)$(or $(BUILD_CC),$(LINK)) $(OWN_CPPFLAGS) $(WARN) $< -o $@

-include $(shell find $(B) -name '*.d' 2>/dev/null)

# --- Running ----------------------------------------------------------------

export RLY MODE CC

# A sanitizer's finding must not look like one of the program's own exits.
export ASAN_OPTIONS  := exitcode=99:allocator_may_return_null=1:handle_sigill=1
export LSAN_OPTIONS  := exitcode=99
export TSAN_OPTIONS  := exitcode=99:halt_on_error=1
export UBSAN_OPTIONS := exitcode=99:print_stacktrace=1
# Else regions are left out where the machine is busy (kernels/parallel.c).
export OMP_WAIT_POLICY := passive

# Text with expectations in its comments, for `rly test`.
RLY_TESTS := $(shell find tests -name '*.rly' -not -path '*/conformance/*' | \
               sort) $(wildcard README.md docs/*.md docs/tutorial/*.md \
               docs/puzzles/*.md examples/*/README.md)
export RLY_TESTS

deps:           ## install the Debian packages that the build and tests need
	@.ci/deps $(PACKAGES)

deps-bench:     ## install the peers that `make bench` compares with
	@.ci/deps $(BENCH_PACKAGES)

deps-neon:      ## install the compiler and the emulator of `make neon`
	@.ci/deps $(NEON_PACKAGES)

deps-musl:      ## install the compiler and the libraries of `make musl`
	@.ci/deps $(MUSL_PACKAGES)
	@web/deps build/deps jansson protobuf-c

deps-libedit:   ## install the line editor of `make libedit`
	@.ci/deps $(LIBEDIT_PACKAGES)

deps-onnx:      ## install the reader of ONNX files and the data of its tests
	@.ci/deps $(ONNX_PACKAGES)

deps-browser:   ## install the browser that shows the stepper's page to a test
	@.ci/deps $(BROWSER_PACKAGES)

deps-editors:   ## install the editors and shells that a test drives
	@.ci/deps $(EDITOR_PACKAGES)

deps-graph:     ## install Graphviz, to which a test gives graphs
	@.ci/deps $(GRAPH_PACKAGES)

deps-web:       ## install the compiler and the libraries of `make web-core`
	@.ci/deps $(WEB_PACKAGES)
	@web/deps build/deps jansson protobuf-c
	@mkdir -p build/deps/npm
	@cp web/package.json web/package-lock.json build/deps/npm/
	@cd build/deps/npm && npm ci --no-audit --no-fund --loglevel=error

# No package's scripts are run: none that is used needs them.
deps-vscode:    ## install what packages and tests the extension for VS Code
	@.ci/deps $(VSCODE_PACKAGES)
	@mkdir -p build/deps/vscode
	@cp editors/vscode/package.json editors/vscode/package-lock.json \
	  build/deps/vscode/
	@cd build/deps/vscode && npm ci --ignore-scripts --no-audit --no-fund \
	  --loglevel=error

deps-tree-sitter: ## install what compiles and tests the parser for editors
	@.ci/deps $(TREE_SITTER_PACKAGES)

deps-fftw:      ## install the FFT of an example, which a test builds
	@.ci/deps $(FFTW_PACKAGES)

deps-python:    ## install what the Python package and its tests need
	@.ci/deps $(PYTHON_PACKAGES)

deps-mpi:       ## install what trains in several processes
	@.ci/deps $(MPI_PACKAGES)

deps-notebook:  ## install what the tests of the notebook's kernel need
	@.ci/deps $(NOTEBOOK_PACKAGES)

deps-deb:       ## install what `make deb` needs
	@.ci/deps $(DEB_PACKAGES)

deps-guided:    ## install the compiler and the fuzzer of `make guided`
	@.ci/deps $(GUIDED_PACKAGES)

deps-memcheck:  ## install the checker of memory that a test runs programs under
	@.ci/deps $(MEMCHECK_PACKAGES)

deps-tidy:      ## install what `make tidy` asks
	@.ci/deps $(TIDY_PACKAGES)

# A second make, so that nothing is built before the tools are there.
ready: deps

examples: all   ## the example programs, against what is known of them
	$(RLY) test --shell $(wildcard examples/*/README.md)

demo: ready     ## a character LSTM learns to write; how one reads is checked
	@$(MAKE) --no-print-directory all
	@examples/charlm/demo

test: ready     ## every test; MODE=asan for the same under the sanitizers
	@$(MAKE) --no-print-directory check

# Children that are killed, or end by _exit, count nothing.
coverage: ready ## the lines of each room that `make test` reaches; in percent
	@rm -rf $$(find build/cov -name '*.gcda' 2>/dev/null)
	@$(MAKE) --no-print-directory MODE=cov check; failed=$$?; \
	  tests/coverage cov && exit $$failed

slow := $(filter-out release,$(MODE))

# The tests of what is the same in each build: the text of this tree and the
# calls between its rooms, the page of WebAssembly, the runner of the suites.
# The release alone runs them.
OF_THE_TREE := tests/lint $(patsubst %,tests/t/%.t,book conformance lint \
  readme rebuild rooms system tree_sitter vscode web web_access web_browser \
  web_page)

# One test for each core: where pages of memory are dear, as in some virtual
# machines, more at a time take longer.  Those that run make in this tree do so
# in turn.  Slow builds take a fourth of the suites, and less of the programs as
# commands print them.
check: all lib $(units) $(conf) $(fuzz_attrs) $(differ) $(oom)
	@prove --timer -j$(shell nproc) \
	  --rules 'seq=tests/t/{build,embed,guide,rebuild}.t' \
	  --rules 'par=**' $(filter-out $(if $(slow),$(OF_THE_TREE)), \
	    tests/lint $(units) $(wildcard tests/t/*.t))
	@$(conf) --ratchet $(if $(slow),--one-in 4) ^lang/ ^ops/
	@$(conf) --ratchet $(if $(slow),--one-in 16) ^fmt/ ^dump/ ^json/

SERIAL_TESTS := simd pack threads fuse fork ops_law

conformance: all $(conf) ## both suites: what passes, what fails and why
	@$(conf)

# The program without OpenMP is what `make musl` builds.
serial:         ## the kernels' tests in a build without OpenMP
	@$(MAKE) --no-print-directory B=build/serial OPENMP=0 \
	  $(SERIAL_TESTS:%=build/serial/tests/unit/%_test)
	@prove -j$(shell nproc) $(SERIAL_TESTS:%=build/serial/tests/unit/%_test)

# Both compilers' warnings are errors.  The syntax alone takes half a minute.
CLANG_SRC = $(lib_src) $(isa_src) $(rly_src) $(unit_src) $(conf_src) \
            $(bench_src) $(fuzz_src) $(wildcard fuzz/guided/*.c)
clang: $(gen_hdr) ## clang's warnings, without building
	@command -v clang > /dev/null || \
	  { echo 'make clang needs clang: make deps-guided'; exit 1; }
	$(Q)printf '%s\n' $(sort $(CLANG_SRC)) | xargs -n 20 -P 2 clang \
	  $(PREPROCESS) -std=gnu11 -O1 $(filter-out -fopenmp,$(FIXED)) \
	  $(FLAGS_lib) $(FLAGS_repl) -Wall -Wextra -Werror -fsyntax-only

# Checkers that compile nothing.  What they pass has a stamp, so only what has
# changed is checked again.  The generated headers are the system's to them.
CHECK_FLAGS = $(subst -I$(GEN),-isystem $(GEN),$(PREPROCESS)) -std=gnu11 \
              $(FLAGS_lib) $(FLAGS_repl)
stamps = $(patsubst %.c,$(B)/$(1)/%.ok,$(sort $(2)))
depend = mkdir -p $(@D); $(CC) $(CHECK_FLAGS) -MM -MP -MT $@ -MF $(@:.ok=.d) $<

tidy: $(gen_hdr) ## clang-tidy, by .clang-tidy
	@command -v clang-tidy > /dev/null || \
	  { echo 'make tidy needs clang-tidy: make deps-tidy'; exit 1; }
	@$(MAKE) --no-print-directory -k $(call stamps,tidy,$(CLANG_SRC))

$(B)/tidy/%.ok: %.c .clang-tidy $(B)/flags | $(gen_hdr)
	$(Q)$(depend)
	$(Q)clang-tidy -quiet $< -- $(CHECK_FLAGS) 2>$(@:.ok=.said) || \
	  { cat $(@:.ok=.said); exit 1; }
	@touch $@

# Off is what version 12 gets wrong here: it takes a pointer for NULL that the
# count or the kind beside it says is there, for unset what a function sets
# where it returns true, and for lost what a table keeps (LeakSanitizer finds
# leaks).  Vectors are scalars to it, and their loops take it minutes, so the
# kernels that are made of them are left out.
ANALYZE_NOT := $(addprefix -Wno-analyzer-,null-dereference null-argument \
                 use-of-uninitialized-value malloc-leak)
VECTORS := $(addprefix kernels/ref/,elementary.c elementwise.c) $(isa_src)
analyze: $(gen_hdr) ## gcc's -fanalyzer
	@$(MAKE) --no-print-directory -k \
	  $(call stamps,analyze,$(filter-out $(VECTORS),$(CLANG_SRC)))

$(B)/analyze/%.ok: %.c $(B)/flags | $(gen_hdr)
	$(Q)$(depend)
	$(Q)$(CC) $(CHECK_FLAGS) -O0 -fanalyzer $(ANALYZE_NOT) -Werror -c $< \
	  -o /dev/null
	@touch $@

# Tests of the prompt at a terminal.
AT_TERMINAL := $(addprefix tests/t/,\
                 repl.t prompt.t terminal.t sitting.t watch.t)
libedit:        ## build/MODE/rly-libedit, with libedit, and the prompt's tests
	@[ -e /usr/include/histedit.h ] || { echo 'make libedit needs' \
	  'histedit.h: make deps-libedit'; exit 1; }
	@$(MAKE) --no-print-directory $(B)/rly-libedit
	@RLY=$(B)/rly-libedit MODE=$(MODE) prove $(AT_TERMINAL)

neon:           ## the kernels for ARM, cross-compiled, tested under qemu
	+@tests/neon/run

# Its settings are in web/wasm.mk.
web-core:       ## build/wasm/rly.wasm, the program as WebAssembly
	@[ -d build/deps/jansson ] && command -v wasm-split > /dev/null || \
	  { echo 'make web-core needs libraries and Binaryen: make deps-web'; \
	    exit 1; }
	@$(MAKE) --no-print-directory MODE=wasm all
	@web/sizes build/wasm/rly.wasm build/wasm/rly.later.wasm

# The pages are bundled by esbuild of what web/package-lock.json pins.
web: web-core   ## build/web/, a page that runs it, and the book
	@[ -d build/deps/npm/node_modules/marked ] || \
	  { echo 'make web needs an editor and a bundler: make deps-web'; exit 1; }
	@rm -rf build/web
	@mkdir -p build/web/book
	@NODE_PATH=build/deps/npm/node_modules \
	  build/deps/npm/node_modules/.bin/esbuild --bundle --minify \
	  --format=esm --target=es2022 --log-level=warning --outdir=build/web \
	  web/page/main.js web/page/worker.js web/page/*.css
	@build/deps/npm/node_modules/.bin/esbuild --bundle --minify \
	  --format=iife --global-name=begun --target=es2022 --log-level=warning \
	  --outfile=build/web/begin.js web/page/begin.js
	@NODE_PATH=build/deps/npm/node_modules \
	  build/deps/npm/node_modules/.bin/esbuild --bundle --minify --splitting \
	  --format=esm --target=es2022 --log-level=warning \
	  --outdir=build/web/book web/book/book.js web/book/live.js
	@node web/page/inline.mjs build/web < web/page/index.html \
	  > build/web/index.html
	@rm build/web/begin.js build/web/style.css
	@cp build/wasm/rly.wasm build/wasm/rly.later.wasm build/web/
	@cp web/book/book.css build/web/book/
	@node web/book/build.mjs build/web/book
	@web/sizes build/web/index.html build/web/main.js build/web/worker.js \
	  build/web/rly.wasm build/web/book/live.js build/web/book/search.json

test-web: all web-core ## the suites and examples in it, against this build
	@node tests/web/agree.mjs $(RLY) build/wasm/rly.wasm

test-browser: all web ## the same in the browser of `make deps-browser`
	@node tests/web/agree.mjs $(RLY) chromium

vscode:         ## build/vscode/rly-VERSION.vsix, the extension for VS Code
	@[ -d build/deps/vscode/node_modules ] || \
	  { echo 'make vscode needs a bundler and vsce: make deps-vscode'; exit 1; }
	@mkdir -p build/vscode
	@node editors/vscode/build.mjs $(VERSION) build/vscode/rly-$(VERSION).vsix
	@echo build/vscode/rly-$(VERSION).vsix

# A folder as editors want one: src/ holds all that a compiler needs, and Neovim
# takes the whole folder as a place of its 'runtimepath'.
tree := build/tree-sitter
tree-sitter:    ## build/tree-sitter: a parser and queries for editors
	@[ -f /usr/include/tree_sitter/parser.h ] || \
	  { echo 'make tree-sitter needs a header: make deps-tree-sitter'; exit 1; }
	@mkdir -p $(tree)/src/tree_sitter $(tree)/parser $(tree)/queries/rly
	@cp /usr/include/tree_sitter/parser.h $(tree)/src/tree_sitter/
	@cp editors/tree-sitter/queries/*.scm $(tree)/queries/rly/
	@editors/tree-sitter/generate > $(tree)/src/parser.c.new
	@mv $(tree)/src/parser.c.new $(tree)/src/parser.c
	$(Q)$(CC) -std=c11 -O2 -Wall -Wextra $(if $(WERROR),-Werror) -fPIC -shared \
	  -I$(tree)/src $(tree)/src/parser.c -o $(tree)/parser/rly.so
	$(Q)$(CC) -std=c11 -O2 -Wall -Wextra $(if $(WERROR),-Werror) -I$(tree)/src \
	  tests/tree_sitter/read.c $(tree)/src/parser.c -ltree-sitter -o $(tree)/read

musl:           ## build/musl/rly, with musl, warnings as errors, and its tests
	+@tests/musl/run

lint:           ## the order of the folders, line length, leftovers, layout
	@tests/lint

format:         ## lay out all C code as .clang-format says
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

promote: all $(conf) ## accept today's output as expected: then read the diff
	$(RLY) test --promote --shell $(RLY_TESTS)
	$(conf) --promote

docs: all       ## the tables of docs/, from the sources
	$(RLY) ops --markdown > docs/operators.md
	$(RLY) doc --markdown > docs/library.md
	perl docs/relay.pl $(RLY) docs/relay.md > $(B)/relay.md
	mv $(B)/relay.md docs/relay.md
	perl docs/statuses.pl docs/EMBEDDING.md > $(B)/EMBEDDING.md
	mv $(B)/EMBEDDING.md docs/EMBEDDING.md

N    ?= 1000
SEED ?= 1
SIZE ?= 400
TIME ?= 60
TARGET ?= prompt
FRAMES ?= 10000000
STRIDE ?= 1
RLY_SCRIPTS ?= $(wildcard tests/run/*.rly tests/gradient/*.rly \
                 tests/conformance/lang/*.rly)
soak: $(B)/tests/unit/soak_test ## FRAMES frames through 64 sessions
	@$< $(FRAMES)

# The frame pointers tell -p which functions have called one another.
oom:            ## each path to an allocation, in every script, fails; hours
	@$(MAKE) --no-print-directory B=build/paths \
	  LOOKS='-DWITH_FRAME_POINTERS= -fno-omit-frame-pointer' \
	  build/paths/tests/oom/oom
	@build/paths/tests/oom/oom -v -p -j $(shell nproc) $(RLY_SCRIPTS)

oom-each: $(oom) ## each STRIDE-th allocation fails: weeks, with a stride of 1
	@$< -v -s $(STRIDE) $(RLY_SCRIPTS)

# MEM_SMALL is 512 bytes there, so that programs of a modest width have tables
# that may be refused.
oom-tables:     ## the same where each table beyond 512 bytes may be refused
	@$(MAKE) --no-print-directory B=build/tight LOOKS=-DMEM_SMALL_BYTES=512 \
	  build/tight/tests/oom/oom
	@perl tests/oom/hostile wide > build/tight/wide.rly
	@for command in check run fmt dump; do \
	  build/tight/tests/oom/oom -v -s $(STRIDE) -c $$command \
	    build/tight/wide.rly || exit 1; done

walk: $(B)/tests/unit/walk_test ## the stepper over all conformance programs
	@$< 0

late:           ## how long kernels go on after a request to stop; OPS=...
	@$(MAKE) --no-print-directory B=build/late LOOKS=-DSTOP_LOOKED \
	  build/late/tests/late/late
	@build/late/tests/late/late $(OPS)

# Tests that take a sample of many programs (sample() in tests/t/Rly.pm).
SWEEPS = $(shell grep -lwE 'one_in|sample|SWEEP' tests/t/*.t)
sweep: all $(differ) $(conf) ## tests of samples on all programs, for hours
	@SWEEP=1 prove --timer -j$(shell nproc) $(SWEEPS)

depth: all      ## each way to nest and to chain, a million deep; SHAPE='sum'
	@DEPTH=$(or $(DEPTH),1000000) prove -v tests/t/depth.t

kills: all      ## KILLS writers of files killed, each at a moment by chance
	@KILLS=$(or $(KILLS),1000) prove -v tests/t/killed.t

kill-train: all ## ROUNDS (100) runs of `rly train` killed, and resumed
	@ROUNDS=$(or $(ROUNDS),100) prove -v tests/t/train.t

kill-team: all  ## ROUNDS (100) runs in several processes killed, and resumed
	@ROUNDS=$(or $(ROUNDS),100) prove -v tests/t/team.t

threads: $(B)/tests/unit/sessions_test ## sessions on threads; MODE=tsan
	@$<

pass-agree: all $(differ) ## all programs, N generated ones, through all passes
	@RLY=$(B)/rly AGREE_ALL=1 AGREE_SEEDS=$(N) AGREE_FROM=$(SEED) \
	  perl tests/t/pass_agree.t

rules-agree: all ## the library's rules on all programs of the suites
	@RLY=$(B)/rly RULES_ALL=1 perl tests/t/rules_agree.t

planted: all    ## all mistakes of tests/planted, found by bisection and reduced
	@RLY=$(B)/rly MODE=$(MODE) PLANTED=1 prove tests/t/planted.t

fuzz: $(differ) ## N programs from SEED on: the VM against the step machine
	@$(differ) --count $(N) --seed $(SEED) --size $(SIZE)

fuzz-grad: all $(differ) ## derivatives of N functions, checked in two ways
	@RLY=$(B)/rly DIFFER=$(differ) perl fuzz/smooth --count $(N) --seed $(SEED)

kinks:          ## what PyTorch has at kinks, for the tests of gradients
	@python3 tests/gradient/kinks.py > tests/gradient/kinks.rly
	@python3 tests/gradient/sample.py > tests/gradient/sample.rly

fuzz-passes: $(differ) ## what passes make of such programs, drawn by the seed
	@$(differ) --ways 1 --count $(N) --seed $(SEED) --size $(SIZE)

# libFuzzer comes with clang.  The corpus is kept between runs.
guided: all     ## fuzzing by coverage: a TARGET of fuzz/guided, TIME seconds
	@command -v clang > /dev/null || \
	  { echo 'make guided needs clang: make deps-guided'; exit 1; }
	@$(MAKE) --no-print-directory MODE=guided CC=clang \
	  build/guided/fuzz/guided/$(TARGET)
	@sh fuzz/guided/run $(TARGET) $(TIME) $(SEED)

$(B)/fuzz/guided/passes: $(B)/fuzz/duel.o
$(B)/fuzz/guided/%: $(B)/fuzz/guided/%.o $(LIB) $(B)/links
	$(Q)$(LINK) -fsanitize=fuzzer $(filter %.o,$^) $(LIB) $(LDLIBS) -o $@

fuzz-attrs: $(fuzz_attrs) ## N programs an operator, of hostile numbers
	@$(fuzz_attrs) --count $(N) --seed $(SEED)

bench: all $(bench) ## speed beside its peers; BENCH=control runs one group
	@$(bench) $(BENCH)

PROCESSES ?= 2
bench-mpi: all $(B)/team/cost ## the sum over PROCESSES beside MPI's own
	@mpirun --oversubscribe -n $(PROCESSES) $(B)/team/cost

# make install, install-strip and uninstall.
include install.mk

# What is kept in git, and in gen/ what re2c, lemon and protoc-c make of it:
# who builds from the archive needs none of them.
NAME  := rly-$(VERSION)
made  := parser/scan.c parser/grammar.c parser/grammar.h \
         $(if $(filter 1,$(ONNX)),onnx/onnx.pb-c.c onnx/onnx.pb-c.h)
dist: $(addprefix $(GEN)/,$(made)) ## build/rly-VERSION.tar.gz, with generated C
	{ git ls-files; printf '$(GEN)/%s\n' $(made); } | \
	  tar -c -T - --transform='s,^$(GEN)/,gen/,;s,^,$(NAME)/,' --sort=name \
	    --owner=0 --group=0 --numeric-owner \
	    --mtime="@$$(git log -1 --format=%ct)" | gzip -n > build/$(NAME).tar.gz

# Debian's packages, in build/deb/, of the files that git knows, with what
# lintian says of them.
deb:            ## build/deb/*.deb: rly, librly0, librly-dev, python3-rly
	rm -rf build/deb
	install -d build/deb/$(NAME)
	git ls-files | tar -c -T - | tar -x -C build/deb/$(NAME)
	cd build/deb/$(NAME) && env -u MAKEFLAGS -u MAKELEVEL \
	  dpkg-buildpackage -b -us -uc
	lintian --fail-on error,warning --no-tag-display-limit \
	  build/deb/*.changes

wheel: lib      ## build/rly-VERSION-...whl, the Python package
	@python/wheel $(SO) $(VERSION) build

clean:          ## remove build/
	rm -rf build

help:           ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile install.mk | \
	  expand -t 22
