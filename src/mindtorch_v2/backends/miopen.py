"""AMD's library for layers: not available. Its setting is kept."""

from __future__ import annotations

immediate = False
