"""Implementation of the commands; ``dpviz.commands.command_line`` reads their arguments."""
