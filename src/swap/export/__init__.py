"""Turns a trained robot into a bundle: graphs with dense weights, facts, test vectors.

Read in this order: graphs -> recording -> facts -> write -> check
"""
