"""The operation registry: `spec` says what a row is, the other files hold the rows."""
