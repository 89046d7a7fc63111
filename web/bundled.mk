# Libraries that are compiled in with BUNDLED=1, from the sources of Debian's
# packages, which web/deps unpacks: for systems to which no package brings them,
# WebAssembly and musl.
deps_src := $(wildcard build/deps/jansson/src/*.c) \
            $(if $(filter 1,$(ONNX)),build/deps/protobuf-c/protobuf-c/protobuf-c.c)
deps_obj := $(deps_src:build/%.c=$(B)/%.o)
deps_hdr := $(addprefix $(GEN)/deps/jansson,.h _config.h _private_config.h)
BUNDLED_CPPFLAGS := -isystem build/deps/protobuf-c -isystem $(GEN)/deps

$(B)/deps/%.o: build/deps/%.c $(B)/flags | $(deps_hdr)
	@mkdir -p $(@D)
	@echo "  cc    $<"
	$(Q)$(CC) $(BUNDLED_CPPFLAGS) $(COMPILE) -DHAVE_CONFIG_H \
	  -Dutf8_encode=json_utf8_encode -w -c $< -o $@

$(GEN)/deps/%.h: build/deps/jansson/src/%.h
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(GEN)/deps/jansson_config.h: build/deps/jansson/src/jansson_config.h.in
	@mkdir -p $(@D)
	$(Q)sed -e 's/@json_inline@/inline/; s/@json_have_long_long@/1/' \
	  -e 's/@json_have_[a-z_]*@/0/' $< > $@

$(GEN)/deps/jansson_private_config.h: web/bundled.mk
	@mkdir -p $(@D)
	$(Q)printf '#define %s\n' 'HAVE_STDINT_H 1' 'HAVE_UNISTD_H 1' \
	  'INITIAL_HASHTABLE_ORDER 3' > $@
