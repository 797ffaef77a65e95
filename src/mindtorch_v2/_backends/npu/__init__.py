"""Ascend NPUs: the vendor's public C ABI, bound by a table.

Nothing here runs before a program asks for `device="npu"`.
"""
