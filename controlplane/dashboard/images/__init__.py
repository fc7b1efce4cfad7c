"""Pages of images: lists, one image, forms, members, and the catalogue of well-known ones."""
