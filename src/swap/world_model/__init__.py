"""The world model: encoder, latent state, decoder, loss. Read in this order:

depth -> encoder -> encoder_registry -> rssm -> decoder -> batch -> loss -> model
"""

from swap.world_model.batch import Sequences
from swap.world_model.decoder import Reconstruction
from swap.world_model.depth import DepthCodec
from swap.world_model.encoder_registry import ENCODERS, EncoderSpec
from swap.world_model.loss import LossCfg
from swap.world_model.model import Observed, WorldModel, WorldModelCfg
from swap.world_model.rssm import Latent

__all__ = [
    "ENCODERS",
    "DepthCodec",
    "EncoderSpec",
    "Latent",
    "LossCfg",
    "Observed",
    "Reconstruction",
    "Sequences",
    "WorldModel",
    "WorldModelCfg",
]
