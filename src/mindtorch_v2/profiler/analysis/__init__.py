"""Reading a store: pure functions of it. Nothing here records, or changes what it reads.

`EventTree` is what all of them start from; wherever a store is accepted, so is the tree made from it, which saves
computing the same arrays again.
"""
