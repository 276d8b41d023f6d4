"""Files that a cohort's verifier copies into its own folder; nothing here is imported.

Decisions: a copy and not an import, for a verifier is pinned by the digest of its folder
and runs where this package is not installed.
"""
