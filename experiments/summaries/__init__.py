"""Counterparts of the summarisation tables of [KuleszaTaskar2012]_ (tables 2 to 5), on public data."""
