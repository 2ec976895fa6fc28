"""From counters to answers: how records become counters (a layout), and what a question reads off them."""
