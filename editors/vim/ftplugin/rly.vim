" SPDX-License-Identifier: Apache-2.0
" Comments, indentation and what belongs to a name.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=//\ %s
setlocal comments=s1:/*,mb:*,ex:*/,://
setlocal expandtab shiftwidth=2 softtabstop=2 textwidth=80
setlocal iskeyword+=.

let b:undo_ftplugin = 'setlocal commentstring< comments< expandtab<'
      \ . ' shiftwidth< softtabstop< textwidth< iskeyword<'
