"""What programs have promised to hold when their model is trained again: open options, and the look at them."""
