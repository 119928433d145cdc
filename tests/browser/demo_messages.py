"""A page that has hostile text in every kind of element that shows Markdown."""

import streamlit as st

from dpviz.ui.messages import plain_text, show_caption, show_corrections, show_error
from tests.support.hostile import TEXTS, random_texts

st.set_page_config(page_title="messages")
for number, text in enumerate((*TEXTS, *random_texts(100))):
    with st.container(key=f"text{number}"):
        show_error(text)
        show_caption(text)
        st.markdown(plain_text(text))
        st.checkbox(plain_text(text), key=f"box{number}")
show_corrections(f"Note {text}" for text in TEXTS)
