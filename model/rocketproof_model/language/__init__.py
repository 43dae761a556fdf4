"""The modelling language: types, terms, models."""
