"""Conformance: the implementation performs actions of the specification, and its state is compared with the model's.

Input: a model instance with a program, a witness or a search of `rocketproof_model`. Output: the first step where implementation and model
differ, with a program that shows it. `drivers/` performs the actions of each model, `stateful/` generates programs, `witnesses/` replays
witnesses on running brokers. Read first: `drivers/base.py`.
"""
