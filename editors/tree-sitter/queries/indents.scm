; Indentation, in the captures of nvim-treesitter.

[
  (function)
  (gradient)
  (rule)
  (operator_definition)
  (type_definition)
  (lambda)
  (block)
  (if)
  (match)
  (call)
  (list)
  (tuple)
  (parentheses)
] @indent.begin

["(" ")" "[" "]" "{" "}"] @indent.branch
(comment) @indent.ignore
(ERROR) @indent.auto
