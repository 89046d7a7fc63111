// SPDX-License-Identifier: Apache-2.0
// rly for highlight.js: hljs.registerLanguage('rly', rly).
export default function rly(hljs) {
  const COMMENT = {
    scope: 'comment', begin: /\/\*/, end: /\*\//, contains: ['self'],
  };
  return {
    name: 'rly',
    aliases: ['relay'],
    keywords: {
      $pattern: /[A-Za-z_]\w*/,
      keyword: 'let and fn def type extern param import rule when with op ' +
        'where gradient if else match',
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
      {scope: 'meta', begin: /^\s*#\[(?:version|metadata)/, end: /\]/},
      {scope: 'title.function', begin: /@[A-Za-z_][\w.]*/},
      {scope: 'variable', begin: /%(?:[A-Za-z_][\w./]*|\d+)/},
      {scope: 'number', begin:
        /\b(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?:bf16|f8e4m3|f8e5m2|[fiu]\d*)?|(?:inf|nan)f(?:16|32|64)?)\b/},
      {scope: 'attr', begin: /\b[a-z]\w*(?=\s*=[^=>])/},
      {scope: 'title.class', begin: /\b(?!True\b|False\b|Tensor\b|Ref\b|Dim\b)[A-Z]\w*/},
      {scope: 'built_in', begin: /\b(?!(?:if|fn|match|when|and|with|where|let|else)\b)[a-z]\w*(?:\.\w+)*(?=\()/},
    ],
  };
}
