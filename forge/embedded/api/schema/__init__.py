"""What a resource may hold: structural schemas, pruning, defaults, validation, rules.

    model        Schema, the one shape of a type        prune     drops what is not declared
    structural   reads and judges a definition          default   fills in what is missing
    validate     judges an object, in four rounds       rules     x-kubernetes-validations (CEL)

Where the answers differ from the real server's:

| what | how | why |
|---|---|---|
| cost of rules | neither estimated nor bounded: no rule is refused for it | it takes the server's own cost model |
| types in rules | fields, selections and comparisons of scalars are checked when a definition is made; other unlike types show when the rule runs, as `no such overload` | CEL is given maps, not declared messages |
| functions in rules | lists have no indexOf and lastIndexOf; no format and semver libraries: refused as undeclared | the strings extension holds those names |
| patterns | no Unicode classes (`\\p{L}`): refused; matching may backtrack | Python's engine, not RE2 |
| order of several causes | that of the schema; the server's changes from run to run | |
| branches of anyOf, oneOf | of two branches equally far off, the first is reported | the server's own count is not public |
"""  # noqa: E501 - a table's row is a line
