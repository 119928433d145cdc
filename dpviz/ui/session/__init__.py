"""A session: controls and link, caches, jobs, uploads, and how it ends."""
