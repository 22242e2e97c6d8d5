"""What `tapegrad.keras.loading` puts into Keras, one module for each of its backend's; to be imported by it alone."""
