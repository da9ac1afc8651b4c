"""What an imported task's reference.py is made of: the text of one of these modules, with its constants replaced."""
