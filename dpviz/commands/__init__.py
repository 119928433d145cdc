"""What the commands do; ``dpviz.command_line`` reads their arguments."""
