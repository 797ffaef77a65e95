"""How calls are differentiated."""
