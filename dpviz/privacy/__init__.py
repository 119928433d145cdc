"""Neighbouring data sets, the ledger, and the mechanisms, which record each spend on the ledger."""
