"""Events, program specs and their codecs: everything that crosses Onward's edges."""
