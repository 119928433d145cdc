"""The screen: components, controls and state of the Streamlit app."""
