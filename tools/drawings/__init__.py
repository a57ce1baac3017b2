"""The schematics of the book: a small kit, the map of the model, and one module a chapter."""
