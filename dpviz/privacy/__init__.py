"""Neighbouring data sets, the ledger of spends, and mechanisms that record their spends."""
