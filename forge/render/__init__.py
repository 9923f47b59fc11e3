"""Plans, statuses, progress and errors as text and JSON. Pure: values in, text out."""
