"""Runs an exported robot without torch and simulator: bundle, runtime, controller, safety.

Read in this order: spec -> bundle -> vectors -> runtime -> messages -> joints -> depth ->
observations -> gate -> watchdogs -> controller -> log -> transport -> dds. Nothing here imports a
room that trains; a robot needs numpy and onnxruntime.
"""
