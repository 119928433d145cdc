"""A session: its controls and link, caches, jobs and uploads; its memory is freed at its end."""
