# What MODE=wasm is: the program for WebAssembly, by clang and wasi-libc.
# `make deps-web` installs these.  docs/WEB.md tells what a module has, and
# what it lacks.

CC       := clang --target=wasm32-wasi
BUILD_CC := cc
AR       := llvm-ar
READLINE := 0
ONNX     := 1
BUNDLED  := 1
MPI      := 0
OPENMP   := 0
POSITION :=
SUFFIX   := .whole.wasm
PARTS     = $(B)/rly.wasm
# At -O0 clang does not call Binaryen, which web/split/ does.
RLY_LINK := -O0 -Wl,--strip-all

# The stack in memory that the program begins on.  It runs on another, as large
# as the host says (web/wasi/stack.c).
STACK     := 65536

# What is small loads fast; what computes is to be fast itself.
OPT_wasm  := -Oz -DNDEBUG -msimd128 -isystem web/wasi \
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
