"""A session: controls and link, caches, jobs, uploads, and freeing its memory at its end."""
