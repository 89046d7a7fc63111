; What an editor can fold.

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
  (list)
  (comment)
] @fold
