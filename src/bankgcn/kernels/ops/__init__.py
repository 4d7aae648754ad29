"""What one step of the compiled network pass does, forward and backward."""
