"""The three patches of a stored object: JSON patch, merge patch, strategic merge patch.

Where the answers differ from the real server's: a directive of a strategic merge patch that is no list
where one must be is refused with words of our own (500, as there); a JSON patch of the whole document
(path "") is refused.
"""
