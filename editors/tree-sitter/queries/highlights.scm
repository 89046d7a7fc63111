; Colours. Where two patterns fit a node, the later one counts.

(comment) @comment
(version) @preproc
(metadata) @preproc
(string) @string
(number) @number
(index) @number
(meta) @number
["True" "False"] @boolean

["let" "and" "type" "extern" "free_var" "param" "op" "where" "rule" "when"
 "gradient" "with" "ref" "ref_read" "ref_write"] @keyword
["def" "fn"] @keyword.function
["if" "else" "match" "match?"] @conditional
["import"] @include

["+" "-" "*" "/" "<" "<=" ">" ">=" "==" "!=" "&&" "||" "!" "|>" "|"
 "=" "->" "=>" "..." "?"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter

(local) @variable
(graph_name) @variable
(global) @function
(parameter name: (local) @parameter)

(call function: (identifier) @function.call)
(call function: (path) @function.call)
((call function: (identifier) @constructor) (#match? @constructor "^[A-Z]"))
((identifier) @constructor (#match? @constructor "^[A-Z]"))

"Tensor" @type
(named_type name: (identifier) @type)
(type_definition name: (identifier) @type)
(type_parameter name: (identifier) @type)
(tensor_type (identifier) @type)
(constructor name: (identifier) @constructor)
(constructor_pattern name: (identifier) @constructor)

(attribute name: (identifier) @field)
(field name: (identifier) @field)
(labelled_pattern name: (identifier) @field)
(field_access field: (identifier) @field)
