# What `make install` puts where, and `make uninstall` removes.  The Makefile
# includes this file.

# Where things are installed; @NAME@ in a template is what NAME says here.
# LIBDIR may be lib/x86_64-linux-gnu below PREFIX.
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DATADIR    ?= $(PREFIX)/share
bin  := $(DESTDIR)$(BINDIR)
dir  := $(DESTDIR)$(LIBDIR)
man  := $(DESTDIR)$(MANDIR)
data := $(DESTDIR)$(DATADIR)
# Where shells and editors look for what others bring them.
completions := bash:$(data)/bash-completion/completions/rly \
               zsh:$(data)/zsh/site-functions/_rly \
               fish:$(data)/fish/vendor_completions.d/rly.fish
vimfiles    := $(patsubst editors/vim/%,%,$(wildcard editors/vim/*/rly.*))
vims        := $(data)/vim/vimfiles $(data)/nvim/site
treefiles   := parser/rly.so $(patsubst editors/tree-sitter/queries/%,\
                 queries/rly/%,$(wildcard editors/tree-sitter/queries/*.scm))
emacs       := $(data)/emacs/site-lisp/rly-mode.el
below = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
fill  = perl docs/man/fill PREFIX=$(PREFIX) VERSION=$(VERSION) \
         LIBDIR='$(call below,$(LIBDIR))' \
         INCLUDEDIR='$(call below,$(INCLUDEDIR))' \
         ONNX="$(if $(filter 1,$(ONNX)), -lprotobuf-c)" \
         OPENMP="$(if $(filter 1,$(OPENMP)), -lgomp)"

install: all lib ## into $(DESTDIR)$(PREFIX); the places: install.mk
	install -D -m 755 $(RLY) $(bin)/rly
	$(if $(TEAM),install -D -m 644 $(TEAM) $(bin)/../lib/rly/rly-mpi.so)
	install -D -m 755 $(SERVER) $(bin)/../lib/rly/rly-serve-docs
	install -D -m 644 include/rly.h $(DESTDIR)$(INCLUDEDIR)/rly.h
	install -D -m 644 $(STATIC) $(dir)/librly.a
	install -D -m 644 $(SO) $(dir)/librly.so.$(VERSION)
	ln -sf librly.so.$(VERSION) $(dir)/$(SONAME)
	ln -sf $(SONAME) $(dir)/librly.so
	install -d $(dir)/pkgconfig $(man)/man1 $(man)/man3
	$(fill) lib/rly.pc.in > $(dir)/pkgconfig/rly.pc
	$(fill) docs/man/rly.1.in > $(man)/man1/rly.1
	$(fill) docs/man/librly.3.in > $(man)/man3/librly.3
	for row in $(completions); do file=$${row#*:}; \
	  install -d $${file%/*}; editors/completions $${row%%:*} > $$file; done
	for folder in $(vims); do for file in $(vimfiles); do \
	  install -D -m 644 editors/vim/$$file $$folder/$$file; done; done
	install -D -m 644 editors/emacs/rly-mode.el $(emacs)
	if [ -f $(tree)/parser/rly.so ]; then for file in $(treefiles); do \
	  install -D -m 644 $(tree)/$$file $(data)/nvim/site/$$file; done; fi
	if [ -d build/web ]; then install -d $(data)/rly && \
	  cp -R build/web $(data)/rly/; fi

STRIP ?= strip
install-strip: install ## the same without what only debuggers read
	$(STRIP) $(bin)/rly
	$(STRIP) --strip-unneeded $(dir)/librly.so.$(VERSION)
	$(STRIP) --strip-debug $(dir)/librly.a

uninstall:      ## remove what `make install` with the same settings put there
	rm -f $(bin)/rly $(addprefix $(bin)/../lib/rly/,rly-mpi.so rly-serve-docs) \
	  $(DESTDIR)$(INCLUDEDIR)/rly.h \
	  $(addprefix $(dir)/,librly.a librly.so.$(VERSION) $(SONAME) librly.so \
	    pkgconfig/rly.pc) $(man)/man1/rly.1 $(man)/man3/librly.3 $(emacs) \
	  $(foreach row,$(completions),$(lastword $(subst :, ,$(row)))) \
	  $(foreach folder,$(vims),$(addprefix $(folder)/,$(vimfiles))) \
	  $(addprefix $(data)/nvim/site/,$(treefiles))
	rm -rf $(data)/rly/web
	rmdir $(data)/rly $(bin)/../lib/rly $(data)/nvim/site/queries/rly \
	  2>/dev/null || :
