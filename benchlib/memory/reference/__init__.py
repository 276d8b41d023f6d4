"""The embedded memory system: one SQLite file a project, reached as a process, never imported.

    python -m benchlib.memory.reference restore | snapshot | destroy
    python -m benchlib.memory.reference serve PROJECT

Tests, the demo and the example cohort use it, through the same boundary as anybody's. It
holds a project in ``PROJECT/memory.sqlite`` below its working folder and nothing else: no
clock, no random id, no absolute path, so the same content makes the same bytes.

Decisions: the standard library alone, for a verb that starts in a tenth of a second.
Vectors are hashed words and character n-grams in integers: equal on every machine, and
called *lexical*, for they know no synonyms. They are scanned in plain Python, because
SQLite extensions can't be loaded in every interpreter. A project is named by its run
identity, so what a killed ``restore`` left behind can be destroyed by that name.
"""
