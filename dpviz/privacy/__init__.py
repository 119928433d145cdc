"""Neighbouring data sets, spends and the ledger, mechanisms that write to the ledger."""
