"""Run folders and episodes -> one HTML file that opens anywhere and loads nothing.

`record` plays episodes and notes everything; `episodes` turns them into plain data for the page;
`document` lays a page out in blocks; `page` writes the file. What is shown of each kind of run is
in `train`, `search`, `detect` and `compare`.
"""
