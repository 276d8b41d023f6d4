"""The three-verb boundary to a memory system; the embedded one stands behind it like any other."""
