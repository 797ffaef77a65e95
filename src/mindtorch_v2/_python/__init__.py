"""What users call that is Python and no operator: conventions that no schema expresses, methods and protocols of
tensors.

These modules stand in front of the dispatcher. They turn a call into calls of operators, and import everything below
them.
"""
