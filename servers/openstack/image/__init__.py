"""The Image API (Glance v2), mounted at `/image`: records of images, their bytes, members, tags, imports.

`attributes` says which top-level keys of an image are ours and how rows have them; all others are properties.
"""
