; What names mean: where they hold, where they begin, where they are used.

(function) @scope
(lambda) @scope
(gradient) @scope
(rule) @scope
(operator_definition) @scope
(block) @scope
(arm) @scope

(function name: (global) @definition.function)
(operator_definition name: (global) @definition.function)
(parameter_definition name: (global) @definition.parameter)
(parameter name: (local) @definition.parameter)
(let name: (local) @definition.var)
(let name: (global) @definition.var)
(graph_binding name: (graph_name) @definition.var)
(free_variable name: (local) @definition.var)
(variable_pattern name: (local) @definition.var)
(type_definition name: (identifier) @definition.type)
(type_parameter name: (identifier) @definition.type)
(constructor name: (identifier) @definition.constant)

(local) @reference
(global) @reference
(graph_name) @reference
