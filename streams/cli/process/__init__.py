"""Worker process, web server, signal handling and client logging of the commands."""
