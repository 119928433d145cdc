"""Hostile text from outside must be shown unchanged, and must have no other effect."""

from __future__ import annotations

import random

#: Host to which no test may connect. The name is reserved for examples, so no real host has it.
HOST = "evil.example"

#: Largest length: a message quotes forty characters, and most of these texts are shorter.
TEXTS = (
    f"![b](http://{HOST}/1)",
    f"<img src=//{HOST}/2>",
    f"[c](http://{HOST}/3)",
    f"<a href=//{HOST}/4>d</a>",
    f"<b style=cursor:url(//{HOST}/5)>e</b>",
    f"http://{HOST}/6 www.{HOST} a@{HOST}",
    f"<script src=//{HOST}/7></script>",
    f"<svg><image href=//{HOST}/8 /></svg>",
    ":red[f] :smile: :material/home: ::g ::h[i]",
    "$x^2$ $$y$$ *j* **k** _l_ __m__ ~n~ `o`",
    "# p",
    "- q",
    "1. r",
    "2) s",
    "+ t -> u <- v -- w >= x <= y ~= z <-> !",
    "> quoted",
    "---",
    "```python",
    "a | b & c &lt; &amp; &#36; \\* \\",
    "__init__ a_b_ _c_d :+1: :-1: :100: 12:30",
    ":streamlit: :blue-badge[x] :small[y]{a=b}",
    "%{x} {{y}} {z} $ 5 $ 6 %s ${t}",
    "var(--st-text-color)",
    "=1+1",
)

#: Characters with a special meaning in some format, and ordinary characters between them.
_ALPHABET = "\\`*_{}[]()<>#+-.!|~$&:;@=%^'\"/ abwhtps12é雪"


def random_texts(number: int, seed: int = 0) -> list[str]:
    """Return random texts of these characters, on one line; single blanks may be inside."""
    rng = random.Random(seed)
    made = ("".join(rng.choices(_ALPHABET, k=rng.randint(1, 30))) for _ in range(number))
    return [" ".join(text.split()) or "x" for text in made]
