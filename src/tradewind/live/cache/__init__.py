"""The cache: a call whose action, code, inputs and declared environment have not changed is not run again.

A call is looked up when its chain is made. What is found ends the first calls of a chain before anything is placed, or
the whole chain, which then never asks for a machine; what follows in the chain is shortened. Calls that ended well are
remembered with what they gave. Nothing here decides anything else: it is all between the generator and the core.
"""
