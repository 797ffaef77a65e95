"""Tools of passes."""
