"""Sphinx's settings of the site. build.py puts this file beside the pages."""

import re
from pathlib import Path

project = "mindtorch_v2"
author = "The mindtorch_v2 developers"
release = re.search(r'"(.+)"', Path("VERSION").read_text()).group(1)
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links to headings, as repositories' viewers make them
root_doc = "index"
html_theme = "furo"
html_title = f"mindtorch_v2 {release}"
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
add_module_names = False
