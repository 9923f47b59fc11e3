"""forge.yaml becomes values, or a list of everything wrong with it, each at its place.

    text      bytes to text: size, encoding, invisible characters
    events    the parser's events, its complaints in our words      compose   events to nodes with places
    scalars   what a plain scalar means (YAML 1.2)                  nodes     the tree, and paths into it
    inputs    ${env:NAME}, on the nodes
    model     the whole schema as frozen models: services, images, steps, certificates; shape: small types
    validate  nodes to an Environment, leaving out what is broken   wording   what pydantic found, in words
    known     what could stand at a place, and what was meant       source    paths to places, problems
    checks    the list of rules                                     rules/    one small function a rule
    files     the port to what stands beside the file               expression  the template language
    hidden    what must not be shown                                mask      excerpts without it
    load      all of it in order           show, shown, schema, init   what `config` prints and writes

Two decisions that are hard to take back. *Own composer over the parser's events*: PyYAML's constructor
knows YAML 1.1 and forgets places, and a round-trip library would be another dependency on the hot path.
*Broken elements are left out and the rest is checked again*: one slip must not hide the others, and rules
written for broken values would each have to think of everything that can be missing.

Nothing here changes anything, and only `load` and `files` read.
"""
