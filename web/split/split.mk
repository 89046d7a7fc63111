# The program's module in two parts (split.mjs), $(B)/rly.wasm, which a page
# begins with, and $(B)/rly.later.wasm, which is loaded when it is needed.

RELOCS := $(B)/rly.relocs.wasm

$(RELOCS): $(call objects,$(rly_src)) $(LIB) $(B)/web/split/ends.o $(B)/links
	@echo "  link  $@"
	$(Q)$(LINK) $(linked) $(LDLIBS) -O0 -Wl,--emit-relocs -o $@

$(B)/rly.wasm $(B)/rly.later.wasm &: $(RLY) $(RELOCS) \
    $(wildcard web/split/*.mjs web/host/*.mjs) web/page/examples.js \
    web/page/language.js web/page/look.js README.md docs/LANGUAGE.md
	@echo "  split $(B)/rly.wasm"
	$(Q)node web/split/split.mjs $(RLY) $(RELOCS) \
	  $(B)/rly.wasm $(B)/rly.later.wasm
