"""The command line: one file a group of commands. Flags in, one call of app, print. No decisions here."""
