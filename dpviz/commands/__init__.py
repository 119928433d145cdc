"""Implementation of the commands; ``dpviz.command_line`` reads their arguments."""
