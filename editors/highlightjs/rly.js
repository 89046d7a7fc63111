// SPDX-License-Identifier: Apache-2.0
// rly for highlight.js: hljs.registerLanguage('rly', rly).
// A number is a part of a name when another name follows.
const PATH = '(?:(?:\\.\\d+)*\\.[A-Za-z_]\\w*)*';

export default function rly(hljs) {
  const COMMENT = {
    scope: 'comment', begin: /\/\*/, end: /\*\//, contains: ['self'],
  };
  return {
    name: 'rly',
    aliases: ['relay'],
    keywords: {
      $pattern: /[A-Za-z_]\w*/,
      keyword: 'let fn def type extern if else match free_var',
      literal: 'True False',
      type: 'Tensor Ref Dim bool float16 float32 float64 bfloat16 ' +
        'e4m3_float8 e5m2_float8 int4 int8 int16 int32 int64 ' +
        'uint4 uint8 uint16 uint32 uint64',
    },
    contains: [
      hljs.C_LINE_COMMENT_MODE,
      COMMENT,
      {scope: 'string', begin: /"/, end: /"/, contains: [{
        scope: 'char.escape',
        begin: /\\(?:[abfnrtv\\'"?]|[0-7]{1,3}|x[0-9A-Fa-f]+)/}]},
      {scope: 'meta', begin: /#\[version/, end: /\]/},
      {scope: 'meta', begin: /#\[metadata\]/, end: /(?![^])/},
      {scope: 'title.function', begin: new RegExp('@[A-Za-z_]\\w*' + PATH)},
      {scope: 'variable',
       begin: new RegExp('%(?:[A-Za-z_][\\w/]*' + PATH + '|\\d+)')},
      {scope: 'number', begin: /\bmeta\[[\w.]+\]/},
      {scope: 'keyword', begin: /\bmatch\?/},
      {begin: [/\./, /\d+/], beginScope: {2: 'number'}},
      // These are names where they are called or given a value.
      {scope: 'keyword', begin: new RegExp('\\b(?:and|param|import|rule|gradient|' +
        'when|with|op|where)\\b(?!\\s*[(=.,:)])')},
      {scope: 'keyword', begin: /\bref(?:_read|_write)?(?=\s*\()/},
      {scope: 'number', begin:
        /\b(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?:bf16|f8e4m3|f8e5m2|[fiu]\d*)?|(?:inf|nan)(?:f(?:16|32|64|8e4m3|8e5m2)?|bf16))(?!\w)/},
      {scope: 'attr', begin: /\b[a-z]\w*(?=\s*=[^=>])/},
      {scope: 'title.class', begin: /\b(?!True\b|False\b|Tensor\b|Ref\b|Dim\b)[A-Z]\w*/},
      {scope: 'built_in', begin: /\b(?!(?:if|fn|match|let|else)\b)[a-z]\w*(?:\.\w+)*(?=\()/},
    ],
  };
}
