" SPDX-License-Identifier: Apache-2.0
" Syntax of rly: Relay's text format with extensions.
if exists('b:current_syntax')
  finish
endif

syntax case match

syntax keyword rlyKeyword let fn def type extern free_var
syntax keyword rlyConditional if else match
syntax match rlyConditional /\<match?/
syntax keyword rlyBoolean True False

" Types: dtypes, Tensor and its relatives, constructors and ADTs.
syntax match rlyType /\<\(bool\|float\(16\|32\|64\)\|bfloat16\|e4m3_float8\|e5m2_float8\)\>/
syntax match rlyType /\<u\=int\(4\|8\|16\|32\|64\)\>/
syntax keyword rlyType Tensor Ref Dim
syntax match rlyConstructor /\<[A-Z]\w*\>/

" Names with a sigil: @global, %local, and %0 of a graph.
" A slash belongs to a name if a word follows; so does a number before a word.
syntax match rlyGlobal /@\h\w*\(\/\w\+\)*\(\(\.\d\+\)*\.\h\w*\(\/\w\+\)*\)*/
syntax match rlyLocal /%\h\w*\(\/\w\+\)*\(\(\.\d\+\)*\.\h\w*\(\/\w\+\)*\)*/
syntax match rlyLocal /%\d\+/

" A lower-case name that is called is an operator; name= is an attribute.
syntax match rlyOperator /\<[a-z][A-Za-z0-9_.]*\ze(/
syntax match rlyAttribute /\<[a-z]\w*\ze=[^=]/

" These are names where they are called or given a value.
syntax match rlyKeyword
      \ /\<\(and\|param\|import\|rule\|gradient\|when\|with\|op\|where\)\>\(\s*[(=.,:)]\)\@!/
syntax match rlyKeyword /\<ref\(_read\|_write\)\=\ze\s*(/

syntax match rlyNumber
      \ /\<\d\+\(\.\d*\)\=\([eE][-+]\=\d\+\)\=\([fiu]\d*\|bf16\|f8e[45]m[23]\)\=\>/
syntax match rlyNumber /\<\(inf\|nan\)\(f\(16\|32\|64\|8e4m3\|8e5m2\)\=\|bf16\)\>/

syntax region rlyString start=/"/ skip=/\\./ end=/"/ contains=rlyEscape
syntax match rlyEscape contained /\\\([abfnrtv\\'"?]\|\o\{1,3}\|x\x\+\)/

" Comments nest; expectations of `rly test` stand out in them.
syntax match rlyExpect contained /\<expect\>[^:]*:/
syntax region rlyComment start=/\/\// end=/$/
      \ contains=rlyExpect,@Spell
syntax region rlyComment start=/\/\*/ end=/\*\//
      \ contains=rlyComment,@Spell
syntax region rlyVersion start=/^#\[version/ end=/\]/ contains=rlyString
syntax match rlyMetadata /^#\[metadata\]/

highlight default link rlyKeyword Keyword
highlight default link rlyConditional Conditional
highlight default link rlyBoolean Boolean
highlight default link rlyType Type
highlight default link rlyConstructor Structure
highlight default link rlyGlobal Function
highlight default link rlyLocal Identifier
highlight default link rlyOperator Special
highlight default link rlyAttribute Label
highlight default link rlyNumber Number
highlight default link rlyString String
highlight default link rlyEscape SpecialChar
highlight default link rlyExpect SpecialComment
highlight default link rlyComment Comment
highlight default link rlyVersion PreProc
highlight default link rlyMetadata PreProc

let b:current_syntax = 'rly'
