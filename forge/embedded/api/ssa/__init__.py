"""Server-side apply: who owns which field, what an apply changes, and when two managers conflict.

    fieldset   sets of paths, FieldsV1      compare   what changed        typed   what an object names
    managed    managedFields                merge     puts in, takes out  apply   all of it together

Where the answers differ from the real server's: fields owned in another version of the kind are taken
as they are, since conversion changes nothing but the version; the causes of a conflict come in the
order of managers, which the server leaves to chance.
"""
