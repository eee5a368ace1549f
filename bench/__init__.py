"""What exhume costs and how quick it is. Every result carries the machine it was measured on."""
