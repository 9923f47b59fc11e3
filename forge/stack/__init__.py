"""Steps of a stack as values, the template language, captures. Pure."""
