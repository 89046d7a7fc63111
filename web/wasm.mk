# What MODE=wasm is: the program for WebAssembly, by clang and wasi-libc, with
# libraries from the sources of Debian's packages.  `make deps-web` installs
# these.  web/README.md tells what a module has, and what it lacks.

CC       := clang --target=wasm32-wasi
BUILD_CC := cc
AR       := llvm-ar
READLINE := 0
ONNX     := 1
MPI      := 0
OPENMP   := 0
POSITION :=
SUFFIX   := .whole.wasm
PARTS     = $(B)/rly.wasm
# At -O0 clang does not call Binaryen, which web/split/ does.
RLY_LINK := -O0 -Wl,--strip-all

# The stack in memory is address space until it is used; how much of it is,
# the host decides (web/wasi/stack.c).
STACK     := 536870912

# What is small loads fast; what computes is to be fast itself.
OPT_wasm  := -Oz -DNDEBUG -msimd128 \
  -isystem web/wasi -isystem build/deps/protobuf-c -isystem $(GEN)/deps \
  $(addprefix -D_WASI_EMULATED_,MMAN SIGNAL PROCESS_CLOCKS GETPID)
WARN_wasm := -Wno-missing-field-initializers
LIBS_wasm := $(addprefix -lwasi-emulated-,mman signal process-clocks getpid) \
  -lc-printscan-long-double -Wl,--stack-first,-z,stack-size=$(STACK)
FLAGS_vm/vm.c      := -O2
FLAGS_kernels/simd := -O2 -fno-unroll-loops
FLAGS_kernels/math := -O2

# web/wasi has what stands in the place of POSIX.
LACKS    := base/stack.c base/switch_ucontext.c
ADDS     := web/wasi
deps_src := $(wildcard build/deps/jansson/src/*.c) \
            build/deps/protobuf-c/protobuf-c/protobuf-c.c
deps_obj := $(deps_src:build/%.c=$(B)/%.o)
deps_hdr := $(addprefix $(GEN)/deps/jansson,.h _config.h _private_config.h)

$(B)/deps/%.o: build/deps/%.c $(B)/flags | $(deps_hdr)
	@mkdir -p $(@D)
	@echo "  cc    $<"
	$(Q)$(CC) $(COMPILE) -DHAVE_CONFIG_H \
	  -Dutf8_encode=json_utf8_encode -w -c $< -o $@

$(GEN)/deps/%.h: build/deps/jansson/src/%.h
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(GEN)/deps/jansson_config.h: build/deps/jansson/src/jansson_config.h.in
	@mkdir -p $(@D)
	$(Q)sed -e 's/@json_inline@/inline/; s/@json_have_long_long@/1/' \
	  -e 's/@json_have_[a-z_]*@/0/' $< > $@

$(GEN)/deps/jansson_private_config.h: web/wasm.mk
	@mkdir -p $(@D)
	$(Q)printf '#define %s\n' 'HAVE_STDINT_H 1' 'HAVE_UNISTD_H 1' \
	  'INITIAL_HASHTABLE_ORDER 3' > $@
