"""How good are the picks? Selection methods along the dial, against what people judged."""
