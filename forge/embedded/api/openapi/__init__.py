"""The published definitions of built-in kinds, as data, and what is read out of them.

    generate    makes the data from Go packages       builtin    the Schema of a kind
    document    OpenAPI v3 of a group's version       protobuf   kubectl's binary requests

Where the answers differ from the real server's:

| what | how | why |
|---|---|---|
| kinds of DeleteOptions and WatchEvent | those of the group at hand only | other groups are not served |
| paths below /watch/ | not in the documents | deprecated, and not served |
| descriptions of enumerations | list the values, do not describe each | the constants' comments are not packaged |
| CustomResourceDefinition | that of 0.36, built-in kinds that of 0.32 | no earlier package of it in the distribution |
"""  # noqa: E501 - a table's row is a line
